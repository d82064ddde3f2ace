// Forces run-time dispatch to one instruction set, for tests that go through all of this CPU's.
#pragma once

#include <hwy/targets.h>

#include <cstdint>
#include <vector>

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

// One bit for each instruction set that this CPU has and Highway can dispatch to.
inline std::vector<std::int64_t> single_targets() {
  std::vector<std::int64_t> targets;
  for (std::int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    targets.push_back(left & -left);
  }
  return targets;
}

}  // namespace hwprof
