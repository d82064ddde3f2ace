#include "src/blas/evidence/executed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hwprof::blas {
namespace {

using observe::HotSpot;
using observe::LoopClass;
using observe::LoopWidth;
using observe::SampleProfile;

constexpr LoopClass kWide{LoopWidth::k256, true}, kScalar{LoopWidth::kScalar, false},
    kCopy{LoopWidth::kNoArithmetic, false};

SampleProfile profile_of(std::vector<HotSpot> spots) {
  SampleProfile profile;
  profile.hz = 997;
  for (const HotSpot& spot : spots) profile.samples += spot.samples;
  profile.spots = std::move(spots);
  return profile;
}

TEST(Executed, TakesTheLibraryThatComputesMostAndNotTheHottest) {
  const auto executed =
      blas::executed(profile_of({{"/none/python3", "eval", 1, 60, kCopy, {1}},
                                 {"/none/libx.so", "sgemm_kernel_HASWELL", 1, 20, kWide, {1, 2}},
                                 {"/none/libx.so", "sgemm_kernel_HASWELL", 9, 10, kWide, {2, 3}},
                                 {"/none/libx.so", "sgemm_beta", 1, 2, kScalar, {4}},
                                 {"/none/libx.so", "sgemm_itcopy_HASWELL", 1, 5, kCopy, {5}},
                                 {"/none/libm.so", "exp", 1, 3, kScalar, {1}}}));
  ASSERT_FALSE(executed.loops.empty());
  const report::LibraryLoops& hottest = executed.loops.front();
  EXPECT_EQ(hottest.library, "/none/libx.so");
  EXPECT_EQ(hottest.symbol, "sgemm_kernel_HASWELL");
  EXPECT_EQ(hottest.provider, "openblas");
  EXPECT_EQ(hottest.width, "256");
  EXPECT_TRUE(hottest.fma);
  EXPECT_DOUBLE_EQ(hottest.fraction, 0.37);
  EXPECT_EQ(executed.threads(), 3);  // of the loops of that width
}

TEST(Executed, AddsUpToAllSamples) {
  const auto executed = blas::executed(profile_of({{"/a", "f", 1, 5, kWide, {1}},
                                                   {"/a", "f", 2, 2, kCopy, {1}},
                                                   {"/b", "f", 1, 3, kScalar, {1}}}));
  EXPECT_EQ(executed.samples, 10U);
  EXPECT_EQ(executed.frequency_hz, 997);
  for (const auto* list : {&executed.by_library, &executed.by_symbol, &executed.vector_width}) {
    double sum = 0;
    for (const report::SampleShare& share : *list) sum += share.fraction;
    EXPECT_DOUBLE_EQ(sum, 1);
  }
  ASSERT_EQ(executed.by_symbol.size(), 2U);  // the same name in two files is two functions
  EXPECT_EQ(executed.by_symbol[0].library, "/a");
  EXPECT_EQ(executed.by_symbol[0].samples, 7U);
  ASSERT_EQ(executed.vector_width.size(), 3U);
  EXPECT_EQ(executed.vector_width[0].name, "256");
}

TEST(Executed, IsAbsentWithoutSamplesAndWithoutArithmetic) {
  const auto nothing = blas::executed({});
  EXPECT_FALSE(nothing.reason.empty());
  EXPECT_TRUE(nothing.by_library.empty());
  const auto copies = blas::executed(profile_of({{"/a", "memcpy", 1, 5, kCopy, {1}}}));
  EXPECT_TRUE(copies.loops.empty());
  EXPECT_FALSE(copies.threads());
}

TEST(Executed, KnowsTheMakerByTheNamesOfKernels) {
  EXPECT_EQ(provider_of_symbol("dgemm_kernel_ZEN"), "openblas");
  EXPECT_EQ(provider_of_symbol("sgemm_small_kernel_nn_SKYLAKEX"), "openblas");
  EXPECT_EQ(provider_of_symbol("bli_sgemm_haswell_asm_6x16"), "blis");
  EXPECT_EQ(provider_of_symbol("mkl_blas_avx2_sgemm_kernel_0"), "mkl");
  EXPECT_EQ(provider_of_symbol("ATL_sJIK"), "atlas");
  EXPECT_EQ(provider_of_symbol("dnnl::impl::cpu::x64::jit()"), "onednn");
  EXPECT_EQ(provider_of_symbol("my_gemm_kernel"), "");
  EXPECT_EQ(provider_of_symbol("exp"), "");
  EXPECT_EQ(provider_of_symbol(""), "");
}

}  // namespace
}  // namespace hwprof::blas
