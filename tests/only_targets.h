// Forces run-time dispatch to one instruction set, for tests that go through all of this CPU's.
#pragma once

#include <hwy/targets.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/simd/simd.h"

namespace hwprof {

// Lets run-time dispatch choose among `targets` only, and undoes it.
class OnlyTargets {
 public:
  explicit OnlyTargets(std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(targets);
  }
  ~OnlyTargets() {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  OnlyTargets(const OnlyTargets&) = delete;
  OnlyTargets& operator=(const OnlyTargets&) = delete;
};

// One bit for each instruction set that this CPU has and the kernels are compiled for. Highway also
// knows others (kernels/simd/simd_targets.h leaves them out); they would all run the baseline
// again.
inline std::vector<std::int64_t> single_targets() {
  std::vector<std::int64_t> targets;
  std::vector<std::string> names;
  for (std::int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    const std::int64_t target = left & -left;
    const OnlyTargets only(target);
    if (std::find(names.begin(), names.end(), simd_target()) != names.end()) continue;
    names.push_back(simd_target());
    targets.push_back(target);
  }
  return targets;
}

}  // namespace hwprof
