// One source for every vector width: Highway compiles this file once a target and the CPU's best
// targets are picked from hwy::SupportedTargets() at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/measure/peak.cpp"
#include "kernels/simd/simd_targets.h"
// Includes this file again, once a target.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "src/measure/peak.h"

// Highway's own scalar fallback is not a vector width of the CPU; run_scalar() stands for it.
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

HWY_BEFORE_NAMESPACE();
namespace hwprof {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vec = hn::Vec<Tag>;

// 32 registers (AVX-512, Neon) hold 24 chains: enough for 4 pipes of latency 4, as wide Arm cores
// have. 16 registers hold 14 chains and the two constants: enough for 2 pipes of latency 5.
#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr int kChains = 24;
#else
constexpr int kChains = 14;
#endif

// Tells the compiler that the value changes here, in its register, at no cost: chains can be
// neither merged nor hoisted.
HWY_INLINE void opaque(Vec& v) {
  auto raw = v.raw;
#if HWY_TARGET <= HWY_AVX3
  asm volatile("" : "+v"(raw));
#elif HWY_ARCH_X86
  asm volatile("" : "+x"(raw));
#else
  asm volatile("" : "+w"(raw));
#endif
  v.raw = raw;
}

#if HWY_TARGET <= HWY_AVX2 || HWY_TARGET == HWY_NEON
// a = a x + y converges to 1: no denormals, no infinities.
constexpr double kOpsPerStep = 2.0 * kChains;
constexpr float kFactor = 0.999f, kSummand = 0.001f;
HWY_INLINE Vec advance(int /*chain*/, Vec a, Vec x, Vec y) { return hn::MulAdd(a, x, y); }
#else
// No FMA: half of the chains multiply (by 1), half add (0), so that both kinds of pipes are busy.
constexpr double kOpsPerStep = kChains;
constexpr float kFactor = 1.0f, kSummand = 0.0f;
HWY_INLINE Vec advance(int chain, Vec a, Vec x, Vec y) {
  return chain % 2 == 0 ? hn::Mul(a, x) : hn::Add(a, y);
}
#endif

// Unrolled by recursion: with a loop, GCC keeps the array in memory and the "peak" is that of
// store forwarding.
template <int kIndex>
HWY_INLINE void advance_from(Vec (&chain)[kChains], Vec x, Vec y) {
  if constexpr (kIndex < kChains) {
    chain[kIndex] = advance(kIndex, chain[kIndex], x, y);
    opaque(chain[kIndex]);
    advance_from<kIndex + 1>(chain, x, y);
  }
}

void run_peak(std::uint64_t steps) {
  const Tag tag;
  Vec chain[kChains];
  for (int i = 0; i < kChains; ++i) chain[i] = hn::Set(tag, 1.0f + 0.01f * static_cast<float>(i));
  Vec x = hn::Set(tag, kFactor), y = hn::Set(tag, kSummand);
  opaque(x);
  opaque(y);
  for (std::uint64_t step = 0; step < steps; ++step) advance_from<0>(chain, x, y);
}

double flops_per_step() { return kOpsPerStep * static_cast<double>(hn::Lanes(Tag())); }

}  // namespace HWY_NAMESPACE
}  // namespace hwprof
HWY_AFTER_NAMESPACE();

#endif  // a vector target

#if HWY_ONCE

#include <algorithm>
#include <cmath>

#include "kernels/thread_team.h"
#include "src/base/clock.h"
#include "src/measure/peak_by_hand.h"

namespace hwprof {
namespace {

// Scalar code as a compiler makes it from a plain loop for the baseline of the architecture:
// multiply and add apart on x86-64, fused on arm64.
constexpr int kScalarChains = 12;

HWY_INLINE void opaque(float& value) {
#if defined(__x86_64__)
  asm volatile("" : "+x"(value));
#else
  asm volatile("" : "+w"(value));
#endif
}

#if defined(__aarch64__)
constexpr double kScalarFlopsPerStep = 2.0 * kScalarChains;
HWY_INLINE float advance(int /*chain*/, float a, float x, float y) { return std::fma(a, x, y); }
#else
constexpr double kScalarFlopsPerStep = kScalarChains;
HWY_INLINE float advance(int chain, float a, float x, float y) {
  return chain % 2 == 0 ? a * x : a + y;
}
#endif

// Through opaque() too: else GCC writes the start values with vector stores and leaves the chains
// in memory.
template <int kIndex>
HWY_INLINE void start_from(float (&chain)[kScalarChains]) {
  if constexpr (kIndex < kScalarChains) {
    chain[kIndex] = 1.0f + 0.01f * kIndex;
    opaque(chain[kIndex]);
    start_from<kIndex + 1>(chain);
  }
}

template <int kIndex>
HWY_INLINE void advance_from(float (&chain)[kScalarChains], float x, float y) {
  if constexpr (kIndex < kScalarChains) {
    chain[kIndex] = advance(kIndex, chain[kIndex], x, y);
    opaque(chain[kIndex]);
    advance_from<kIndex + 1>(chain, x, y);
  }
}

void run_scalar(std::uint64_t steps) {
  float chain[kScalarChains];
  start_from<0>(chain);
  float one = 1.0f, zero = 0.0f;
  opaque(one);
  opaque(zero);
  for (std::uint64_t step = 0; step < steps; ++step) advance_from<0>(chain, one, zero);
}

std::vector<FmaKernel> supported_kernels() {
  std::vector<FmaKernel> kernels{{"scalar", kScalarFlopsPerStep, run_scalar}};
  [[maybe_unused]] const auto targets = hwy::SupportedTargets();
#if (HWY_TARGETS & HWY_SSSE3)
  if (targets & HWY_SSSE3) {
    kernels.push_back({"sse", N_SSSE3::flops_per_step(), N_SSSE3::run_peak});
  }
#endif
#if (HWY_TARGETS & HWY_NEON)
  kernels.push_back({"neon", N_NEON::flops_per_step(), N_NEON::run_peak});
#endif
  const std::vector<FmaKernel> by_hand = kernels_by_hand();
  kernels.insert(kernels.end(), by_hand.begin(), by_hand.end());
#if (HWY_TARGETS & HWY_AVX2)
  if (targets & HWY_AVX2) {
    kernels.push_back({"avx2", N_AVX2::flops_per_step(), N_AVX2::run_peak});
  }
#endif
#if (HWY_TARGETS & HWY_AVX3)
  if (targets & HWY_AVX3) {
    kernels.push_back({"avx512", N_AVX3::flops_per_step(), N_AVX3::run_peak});
  }
#endif
  return kernels;
}

}  // namespace

const std::vector<FmaKernel>& fma_kernels() {
  static const std::vector<FmaKernel> kernels = supported_kernels();
  return kernels;
}

const FmaKernel& fastest_fma_kernel() {
  static const FmaKernel& fastest = []() -> const FmaKernel& {
    const std::vector<FmaKernel>& kernels = fma_kernels();
    const FmaKernel* best = &kernels.front();
    double best_gflops = 0;
    for (const FmaKernel& kernel : kernels) {
      const double gflops = fma_slice_gflops(kernel, 0.004);
      if (gflops > best_gflops) {
        best = &kernel;
        best_gflops = gflops;
      }
    }
    return *best;
  }();
  return fastest;
}

double fma_slice_gflops(const FmaKernel& kernel, double seconds) {
  // Chunks of some 20 us, so that the slice ends in time; the clock of its rate is read twice.
  constexpr std::uint64_t kStepsPerChunk = 4'000;
  std::uint64_t steps = 0;
  const double begin = wall_ns(), cpu_begin = thread_cpu_ns();
  do {
    kernel.run(kStepsPerChunk);
    steps += kStepsPerChunk;
  } while (wall_ns() - begin < seconds * 1e9);
  // A clock with coarse steps (an emulator's) may not have moved.
  const double cpu_ns = std::max(1.0, thread_cpu_ns() - cpu_begin);
  return kernel.flops_per_step * static_cast<double>(steps) / cpu_ns;
}

double team_peak_gflops(ThreadTeam& team, const FmaKernel& kernel, double seconds) {
  std::vector<double> gflops(team.size());
  team.run([&](std::size_t thread) { gflops[thread] = fma_slice_gflops(kernel, seconds); });
  double sum = 0;
  for (const double rate : gflops) sum += rate;
  return sum;
}

}  // namespace hwprof
#endif  // HWY_ONCE
