#include "counters/perf/capacity.h"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include "counters/events/perf_error.h"
#include "counters/machine/affinity.h"
#include "counters/perf/probe.h"

namespace hwprof {
namespace {

constexpr unsigned kMostCounters = 32;  // an Arm PMU has at most 31, no x86 one more than 16

NativeEvent generic(const PmuDevice& device, bool hybrid, std::uint64_t hardware_event,
                    const char* text) {
  NativeEvent event;
  event.type = PERF_TYPE_HARDWARE;
  event.config = hardware_event;
  if (hybrid) event.config |= static_cast<std::uint64_t>(device.type) << PERF_PMU_TYPE_SHIFT;
  event.text = text;
  return event;
}

}  // namespace

void find_capacity(Machine& machine, unsigned cpu) {
  const PmuDevice* device = machine.pmu.for_cpu(cpu);
  if (device == nullptr) {
    machine.pmu.reason = fmt::format("no PMU covers CPU {}", cpu);
    return;
  }
  const bool hybrid = machine.pmu.devices.size() > 1;
  if (hybrid && machine.pmu.for_cpu(current_cpu()) != device) {
    machine.pmu.reason = fmt::format("not on CPU {}: its counters could not be tried", cpu);
    return;
  }
  // Branches have no fixed counter anywhere; instructions stand in where the kernel has no
  // generic branch event (arm64 under QEMU).
  const NativeEvent candidates[] = {
      generic(*device, hybrid, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "branches"),
      generic(*device, hybrid, PERF_COUNT_HW_INSTRUCTIONS, "instructions")};
  for (const NativeEvent& event : candidates) {
    const Probe alone = probe_events(machine, {&event, 1}, Trial::kShort);
    if (!alone.runs) {
      machine.pmu.reason = to_text(alone.refusal);
      continue;
    }
    std::vector<NativeEvent> group{event};
    while (group.size() < kMostCounters) {
      group.push_back(event);
      if (!probe_events(machine, group, Trial::kShort).runs) break;
    }
    if (group.size() < kMostCounters) {
      machine.pmu.counters = static_cast<unsigned>(group.size() - 1);
      machine.pmu.reason.clear();
    } else {
      machine.pmu.reason = "groups of any size were accepted: the number of counters is not known";
    }
    return;
  }
}

}  // namespace hwprof
