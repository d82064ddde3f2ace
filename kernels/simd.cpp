#include "kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd.cpp"
#include "kernels/simd_targets.h"
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

Result<void> cap_simd(std::string_view isa) {
  std::string known;
  for (const Isa& entry : kIsas) {
    if (entry.name != isa) {
      known += (known.empty() ? "" : ", ") + std::string(entry.name);
      continue;
    }
    hwy::SetSupportedTargetsForTest(0);  // an earlier cap must not hide what the CPU has
    const std::int64_t has = hwy::SupportedTargets();
    if ((has & entry.target) == 0) {
      hwy::GetChosenTarget().Update(has);
      return usage_error("this CPU has no " + std::string(isa),
                         "leave --isa out to use the best that it has");
    }
    const std::int64_t better = entry.target - 1;
    hwy::SetSupportedTargetsForTest(has & ~better);
    hwy::GetChosenTarget().Update(has & ~better);
    return {};
  }
  return usage_error("no instruction set of this architecture is called " + std::string(isa),
                     "choose one of " + known);
}

}  // namespace hwprof
#endif  // HWY_ONCE
