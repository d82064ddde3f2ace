#include "counters/perf/plan.h"

#include <algorithm>

namespace hwprof {
namespace {

using Members = std::vector<std::size_t>;

bool contains(const Members& members, std::size_t member) {
  return std::find(members.begin(), members.end(), member) != members.end();
}

class Packer {
 public:
  explicit Packer(const std::function<bool(std::span<const std::size_t>)>& fits) : fits_(fits) {}

  // All members in one group if any can hold them, else each where it fits first.
  void place(const Members& members) {
    Members missing;
    for (std::size_t member : members)
      if (!placed(member) && !contains(missing, member)) missing.push_back(member);
    if (missing.empty() || place_together(missing)) return;
    for (std::size_t member : missing)
      if (!place_together({member})) left_out_.push_back(member);
  }

  std::vector<Members> groups_;
  Members left_out_;

 private:
  [[nodiscard]] bool placed(std::size_t member) const {
    return contains(left_out_, member) ||
           std::any_of(groups_.begin(), groups_.end(),
                       [&](const Members& group) { return contains(group, member); });
  }

  bool place_together(const Members& members) {
    for (Members& group : groups_) {
      Members grown = group;
      grown.insert(grown.end(), members.begin(), members.end());
      if (!fits_(grown)) continue;
      group = std::move(grown);
      return true;
    }
    if (!fits_(members)) return false;
    groups_.push_back(members);
    return true;
  }

  const std::function<bool(std::span<const std::size_t>)>& fits_;
};

}  // namespace

Plan make_plan(std::span<const PlanRequest> requests,
               const std::function<bool(std::span<const std::size_t>)>& fits, unsigned max_passes) {
  Packer hardware(fits), software(fits);
  for (const bool first : {true, false})
    for (const PlanRequest& request : requests)
      if (!request.software && request.first == first) hardware.place(request.members);
  for (const PlanRequest& request : requests)
    if (request.software) software.place(request.members);

  Plan plan;
  plan.left_out = hardware.left_out_;
  plan.left_out.insert(plan.left_out.end(), software.left_out_.begin(), software.left_out_.end());
  const std::size_t groups = hardware.groups_.size();
  const std::size_t passes = max_passes == 0 ? groups : std::min<std::size_t>(groups, max_passes);
  plan.passes.resize(passes);
  for (std::size_t i = 0; i < groups; ++i)
    plan.passes[i * passes / groups].groups.push_back(std::move(hardware.groups_[i]));
  // Software events take no counter: they ride along with the first pass.
  if (!software.groups_.empty() && plan.passes.empty()) plan.passes.emplace_back();
  for (Members& group : software.groups_) plan.passes.front().groups.push_back(std::move(group));
  return plan;
}

}  // namespace hwprof
