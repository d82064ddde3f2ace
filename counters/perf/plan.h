// Which events are counted together. The work can be repeated, so that what does not fit in one
// group goes into another pass instead of sharing counters: every number stays unscaled. Pure: the
// caller says what fits.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace hwprof {

struct PassPlan {
  // Indices of native events. More than one hardware group only when the passes were limited: the
  // kernel then rotates them (multiplexing).
  std::vector<std::vector<std::size_t>> groups;
};

struct PlanRequest {
  // Native events that one number is made of: kept in one group where they fit.
  std::vector<std::size_t> members;
  bool software = false;  // needs no counter: all of these form one group of their own
  bool first = false;     // wants to stand with the others that do: cycles and instructions
};

struct Plan {
  std::vector<PassPlan> passes;
  std::vector<std::size_t> left_out;  // fit in no group, not even alone
};

// `fits`: can these native events run as one group? Never asked about the empty group.
// `max_passes` 0: as many as needed.
Plan make_plan(std::span<const PlanRequest> requests,
               const std::function<bool(std::span<const std::size_t>)>& fits, unsigned max_passes);

}  // namespace hwprof
