#include "kernels/simd/simd.h"

#include "kernels/simd/simd_targets.h"
// After simd_targets.h, which says what is compiled.
#include <hwy/targets.h>

#include <array>

namespace hwprof {
namespace {

struct Isa {
  std::string_view name;
  std::int64_t target;
};

// Highway's target bits: the better the instruction set, the lower its bit.
constexpr std::array kIsas = {
#if HWY_ARCH_X86
    Isa{"sse", HWY_SSSE3},
    Isa{"ssse3", HWY_SSSE3},
    Isa{"avx2", HWY_AVX2},
    Isa{"avx512", HWY_AVX3},
#else
    Isa{"neon", HWY_NEON},
#endif
};

// What the CPU has, whatever cap was set before.
std::int64_t cpu_targets() {
  hwy::SetSupportedTargetsForTest(0);
  return hwy::SupportedTargets();
}

Result<std::int64_t> target_of(std::string_view isa) {
  std::string known;
  for (const Isa& entry : kIsas) {
    if (entry.name == isa) {
      if ((cpu_targets() & entry.target) != 0) return entry.target;
      return usage_error("this CPU has no " + std::string(isa),
                         "leave --isa out to use the best that it has");
    }
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  return usage_error("no instruction set of this architecture is called " + std::string(isa),
                     "choose one of " + known);
}

}  // namespace

// Dispatch takes the lowest bit of those that are both compiled and allowed, else the baseline.
std::string simd_target() {
  const std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  return hwy::TargetName(targets != 0 ? targets & -targets : HWY_STATIC_TARGET);
}

Result<void> check_simd_cap(std::string_view isa) {
  const Result<std::int64_t> target = target_of(isa);
  if (!target) return error_of(target);
  return {};
}

Result<void> cap_simd(std::string_view isa) {
  const Result<std::int64_t> target = target_of(isa);
  if (!target) return error_of(target);
  const std::int64_t allowed = cpu_targets() & ~(*target - 1);  // lower bits are better targets
  hwy::SetSupportedTargetsForTest(allowed);
  hwy::GetChosenTarget().Update(allowed);
  return {};
}

}  // namespace hwprof
