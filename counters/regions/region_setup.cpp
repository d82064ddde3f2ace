#include "counters/regions/region_setup.h"

#include <fmt/format.h>

#include "counters/events/resolve.h"
#include "counters/machine/affinity.h"
#include "counters/regions/region_edge.h"
#include "src/base/text.h"

namespace hwprof {
namespace {

// A region happens once: no second pass over the same work. Software events join the hardware
// group, so that one read() gives all.
void squeeze_into_one_group(RegionSetup& setup) {
  Selection& selection = setup.selection;
  while (selection.passes.size() > 1)
    selection.drop_last_pass(
        {CountStatus::kUnsupported, "it does not fit into one group with the other events",
         "ask for fewer events; a region cannot be counted in several passes"});
  if (selection.passes.empty()) return;
  std::vector<std::size_t> group;
  for (const auto& part : selection.passes.front().groups)
    group.insert(group.end(), part.begin(), part.end());
  if (group.size() > kMostRegionEvents) {
    selection.drop_last_pass({CountStatus::kUnsupported,
                              fmt::format("the events need {} counters, and regions have room for "
                                          "{}",
                                          group.size(), kMostRegionEvents),
                              "ask for fewer events"});
    return;
  }
  for (const std::size_t native : group) setup.natives.push_back(selection.natives[native]);
  selection.passes.front().groups = {std::move(group)};
}

}  // namespace

Result<RegionSetup> choose_region_events(std::string_view events) {
  RegionSetup setup;
  if (trim(events).empty()) return setup;
  TRY(const auto names, split_event_list(events));
  const unsigned cpu = current_cpu();
  setup.machine = probe_machine(cpu);
  TRY(setup.selection, select_events(setup.machine, cpu, names, 0));
  squeeze_into_one_group(setup);
  return setup;
}

}  // namespace hwprof
