// Names of events, as the command line gives them, on machines with and without what they need.
#include <utility>

#include "counters/events/event_table.h"
#include "counters/events/resolve.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace hwprof;

// Of the table and beyond it; 6/143: Sapphire Rapids, 25/97: Zen 4.
constexpr CpuId kCpus[] = {{Vendor::kIntel, 6, 143, 8},
                           {Vendor::kAmd, 25, 97, 2},
                           {Vendor::kArm, 0x41, 0xd40, 1},
                           {Vendor::kOther, 0, 0, 0}};

Machine machine_of(Feed& feed) {
  Machine machine;
  machine.id = kCpus[feed.below(std::size(kCpus))];
  switch (feed.below(4)) {
    case 0:
      break;
    case 1:
      machine.pmu.devices = {{"cpu", 4, {}}};
      break;
    case 2:  // a hybrid, whose small cores come last
      machine.pmu.devices = {{"cpu_core", 4, {0, 1}}, {"cpu_atom", 10, {2, 3}}};
      break;
    default:  // none covers CPU 0
      machine.pmu.devices = {{"cpu", 4, {7}}};
  }
  return machine;
}

}  // namespace

void fuzz(std::string_view text) {
  Feed feed(text);
  const Machine machine = machine_of(feed);
  const auto cpu = static_cast<unsigned>(feed.below(4));
  // A name that no table has is looked for in all of libpfm4's, which takes milliseconds: one in a
  // few inputs.
  bool searched = feed.below(16) != 0;
  const auto names = split_event_list(feed.rest());
  if (!names) return;
  for (const std::string& name : *names) {
    must(!name.empty());
    const bool is_searched = name.find('/') == std::string::npos && !name.starts_with('r') &&
                             find_portable(name) == nullptr;
    if (is_searched && std::exchange(searched, true)) continue;
    const auto event = resolve(machine, cpu, name);
    if (!event) {
      must(event.error().fault == Fault::kUsage && !event.error().what.empty());
      continue;
    }
    // What cannot be counted has a reason, and only that.
    must(event->countable() == event->refusal.reason.empty());
    must(event->name == name && !event->shown_as.empty());
  }
}
