// Where the time went, of samples that are made up.
#include "src/blas/evidence/executed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/blas/providers/providers.h"
#include "src/observe/samples/sample_table.h"

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
  EXPECT_EQ(hottest.provider, Provider::kOpenBlas);
  EXPECT_EQ(hottest.width, "256");
  EXPECT_TRUE(hottest.fma);
  EXPECT_DOUBLE_EQ(hottest.fraction, 0.37);
  EXPECT_EQ(executed.threads(), 3);  // of the loops of that width
  EXPECT_DOUBLE_EQ(hottest.at_once, 1);
  EXPECT_DOUBLE_EQ(hottest.symbol_fraction, 0.3) << "its own, not that of the file";
}

// A BLAS that is linked into a stripped file has no names, and what else it computes may have one.
TEST(Executed, TellsFilesThatMayHoldABlasWithoutNames) {
  constexpr LoopClass kProduct{LoopWidth::kScalar, false, true};
  const auto executed =
      blas::executed(profile_of({{"/none/libsolver.so", "", 1, 60, kProduct, {1}},
                                 {"/none/libsolver.so", "", 1, 10, kScalar, {1}},
                                 {"/none/libother.so", "work", 1, 10, kProduct, {1}},
                                 {"/none/libm.so.6", "", 1, 10, kProduct, {1}},
                                 {observe::kGeneratedCode, "", 1, 5, kProduct, {1}},
                                 {NEEDS_OPENBLAS, "", 1, 5, kProduct, {1}}}));
  ASSERT_EQ(executed.unnamed_products.size(), 1U);
  EXPECT_EQ(executed.unnamed_products.front().name, "/none/libsolver.so");
  EXPECT_EQ(executed.unnamed_products.front().samples, 60U);
  EXPECT_DOUBLE_EQ(executed.unnamed_products.front().fraction, 0.6);
}

TEST(Executed, CountsThreadsAtOnceAndNotOneAfterAnother) {
  const auto at_once = [](std::uint64_t beside) {
    return blas::executed(profile_of({{"/none/libx.so", "k", 1, 20, kWide, {1, 2, 3}, beside}}))
        .loops.front()
        .at_once;
  };
  EXPECT_DOUBLE_EQ(at_once(0), 1);
  EXPECT_DOUBLE_EQ(at_once(20), 2);
  EXPECT_DOUBLE_EQ(at_once(100), 3) << "no more than there were";
}

TEST(Executed, SamplesOfThreadsSideBySideAreTold) {
  constexpr std::uint64_t kPeriod = 1000;
  const auto beside = [](std::uint64_t apart, std::uint32_t other_image) {
    observe::SampleTable table;
    for (std::uint64_t i = 0; i < 100; ++i) {
      table.add({0, 1}, 1, 2 * kPeriod * i, kPeriod);
      table.add({other_image, 1}, 2, 2 * kPeriod * i + apart, kPeriod);
    }
    std::uint64_t sum = 0;
    for (const HotSpot& spot : table.resolve({}).spots) sum += spot.beside;
    return sum;
  };
  EXPECT_EQ(beside(kPeriod / 2, 0), 100U);
  EXPECT_EQ(beside(kPeriod, 0), 0U) << "one after another";
  EXPECT_EQ(beside(kPeriod / 2, 1), 0U) << "in another file";
}

TEST(Executed, NamesTheCodeInWhichThreadsWait) {
  const auto executed = blas::executed(
      profile_of({{"/lib/libc.so.6", "__sched_yield", 1, 9, kCopy, {1}},
                  {"[kernel]", "__sched_yield", 1, 8, kCopy, {1}},
                  {"/lib/libgomp.so.1.0.0", "", 1, 7, kCopy, {1}},
                  {"[kernel]", "libgomp.so.1.0.0", 1, 6, kCopy, {1}},
                  {"/lib/libomp.so.5", "__kmp_wait_template", 1, 5, kCopy, {1}},
                  {"/lib/libc.so.6", "__futex_abstimed_wait_common", 1, 4, kCopy, {1}},
                  {"/lib/libc.so.6", "memcpy", 1, 3, kCopy, {1}},
                  {"[kernel]", "read", 1, 2, kCopy, {1}},
                  {"/lib/libx.so", "", 1, 1, kCopy, {1}}}));
  std::vector<std::string> waiting;
  for (const report::SampleShare& share : executed.waiting) waiting.push_back(share.name);
  EXPECT_THAT(waiting,
              ::testing::ElementsAre("__sched_yield", "__sched_yield", "", "libgomp.so.1.0.0",
                                     "__kmp_wait_template", "__futex_abstimed_wait_common"));
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
  EXPECT_EQ(provider_of_symbol("dgemm_kernel_ZEN"), Provider::kOpenBlas);
  EXPECT_EQ(provider_of_symbol("sgemm_small_kernel_nn_SKYLAKEX"), Provider::kOpenBlas);
  EXPECT_EQ(provider_of_symbol("bli_sgemm_haswell_asm_6x16"), Provider::kBlis);
  EXPECT_EQ(provider_of_symbol("mkl_blas_avx2_sgemm_kernel_0"), Provider::kMkl);
  EXPECT_EQ(provider_of_symbol("ATL_sJIK"), Provider::kAtlas);
  EXPECT_EQ(provider_of_symbol("dnnl::impl::cpu::x64::jit()"), Provider::kOneDnn);
  EXPECT_EQ(provider_of_symbol("my_gemm_kernel"), Provider::kNone);
  EXPECT_EQ(provider_of_symbol("exp"), Provider::kNone);
  EXPECT_EQ(provider_of_symbol(""), Provider::kNone);
}

}  // namespace
}  // namespace hwprof::blas
