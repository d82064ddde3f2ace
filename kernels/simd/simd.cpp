#include "kernels/simd/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/simd.cpp"
#include "kernels/simd/simd_targets.h"
// Includes this file again, once a target.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hwprof {
namespace HWY_NAMESPACE {

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace hwprof
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

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

}  // namespace

HWY_EXPORT(target_name);

std::string simd_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

namespace {

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
#endif  // HWY_ONCE
