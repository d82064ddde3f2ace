// Machines that nobody here owns, as their hypervisors show them. What OpenBLAS really chooses for
// a model, cpu_support_qemu_test.py asks.
#include "src/blas/providers/cpu_support.h"

#include <gtest/gtest.h>

namespace hwprof::blas {
namespace {

using report::Provider, report::VectorClass;

const std::vector<std::string> kAvx2 = {"avx", "avx2", "fma"};
const std::vector<std::string> kAvx512 = {"avx", "avx2", "fma", "avx512f"};
const std::vector<std::string> kAmx = {"avx", "avx2", "fma", "avx512f", "amx_tile"};

// Of an OpenBLAS.
std::string why(const char* version, VectorClass vectors, const VisibleCpu& cpu) {
  return why_core(Provider::kOpenBlas, version, vectors, cpu);
}

constexpr CpuId intel(unsigned model) { return {Vendor::kIntel, 6, model, 0}; }

TEST(CpuSupport, AnotherModelThanTheCpuHas) {
  const VisibleCpu cpu{intel(167), kAmx, true};
  EXPECT_EQ(odd_about(cpu),
            "the hypervisor says model 167 (Intel Rocket Lake), but the CPU has AMX");
  EXPECT_EQ(why("0.3.21", VectorClass::kAvx2, cpu), odd_about(cpu) + ", and it chooses by model");
}

TEST(CpuSupport, HiddenVectors) {
  const VisibleCpu zen4{{Vendor::kAmd, 25, 17, 1}, kAvx2, true};
  EXPECT_EQ(odd_about(zen4), "the hypervisor hides AVX-512, which each AMD Zen 4 has");
  // What nobody can see is no fault of the library.
  EXPECT_EQ(why("0.3.21", VectorClass::kAvx2, zen4), "");
  const VisibleCpu haswell{intel(60), {"avx"}, false};
  EXPECT_EQ(odd_about(haswell), "firmware or the kernel hides AVX2, which each Intel Haswell has");
}

TEST(CpuSupport, NothingIsOddAboutWhatEachOfTheModelHas) {
  EXPECT_EQ(odd_about({intel(60), kAvx2, true}), "");
  EXPECT_EQ(odd_about({intel(143), kAmx, true}), "");
  EXPECT_EQ(odd_about({intel(143), kAvx512, true}), "");  // AMX needs leave of the kernel
  EXPECT_EQ(odd_about({intel(151), kAvx512, false}), "");
  EXPECT_EQ(odd_about({{Vendor::kAmd, 25, 17, 1}, kAvx512, true}), "");
  EXPECT_EQ(odd_about({intel(13), {}, true}), "");  // not in the table
}

TEST(CpuSupport, ALibraryOlderThanTheCpu) {
  const VisibleCpu raptor_lake{intel(186), kAvx2, false};
  EXPECT_EQ(why("0.3.21", VectorClass::kSse, raptor_lake),
            "it does not know model 186 (Intel Raptor Lake P-core)");
  EXPECT_EQ(why("0.3.9", VectorClass::kSse, raptor_lake),
            why("0.3.21", VectorClass::kSse, raptor_lake));
  // Nobody looked at those; and one that is on the widest kernels needs no excuse.
  EXPECT_EQ(why("0.3.22", VectorClass::kSse, raptor_lake), "");
  EXPECT_EQ(why("0.3.21", VectorClass::kAvx2, raptor_lake), "");

  const VisibleCpu tiger_lake{intel(140), kAvx512, false};
  EXPECT_EQ(why("0.3.9", VectorClass::kSse, tiger_lake),
            "it does not know model 140 (Intel Tiger Lake), which 0.3.14 does");
  EXPECT_EQ(why("0.3.14", VectorClass::kSse, tiger_lake), "");
  EXPECT_EQ(why("", VectorClass::kSse, tiger_lake), "");
}

TEST(CpuSupport, OlderAndMisled) {
  EXPECT_EQ(
      why("0.3.9", VectorClass::kSse, {intel(167), kAmx, true}),
      "it does not know model 167 (Intel Rocket Lake), which 0.3.14 does; the hypervisor says "
      "model 167 (Intel Rocket Lake), but the CPU has AMX");
}

TEST(CpuSupport, MklOnAmd) {
  const VisibleCpu zen2{{Vendor::kAmd, 23, 49, 0}, kAvx2, false};
  EXPECT_EQ(why_core(Provider::kMkl, "2020.0.2", VectorClass::kSse, zen2),
            "it does not know model 49 (AMD Zen 2)");
  EXPECT_EQ(why_core(Provider::kMkl, "2021.1", VectorClass::kSse, zen2), "");
  // It asks for features: another model is no excuse for it.
  const VisibleCpu misled{intel(167), kAmx, true};
  EXPECT_EQ(why_core(Provider::kMkl, "2020.0.2", VectorClass::kSse, misled), odd_about(misled));
}

}  // namespace
}  // namespace hwprof::blas
