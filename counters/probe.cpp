#include "counters/probe.h"

#include <fmt/format.h>

#include <cerrno>

namespace hwprof {
namespace {

constexpr int kProbeSteps = 2000;  // instructions, branches and cycles must all rise in these

void run_a_little() {
  volatile int sink = 0;
  for (int i = 0; i < kProbeSteps; ++i) sink = sink + i;
}

}  // namespace

Probe probe_events(const Machine& machine, std::span<const NativeEvent> events) {
  Probe probe;
  GroupOptions options;
  auto group = Group::open(events, options);
  if (!group && (group.error().code == EACCES || group.error().code == EPERM)) {
    options.user_only = probe.user_only = true;
    group = Group::open(events, options);
  }
  if (!group) {
    probe.refusal = explain_open_failure(machine, group.error().code, events.front().text);
    return probe;
  }
  auto done = group->enable();
  run_a_little();
  if (done) done = group->disable();
  if (done) done = group->read(probe.reading);
  if (!done) {
    probe.refusal = {CountStatus::kNotCounted, done.error().what, ""};
    return probe;
  }
  if (probe.reading.time_running_ns == 0) {
    probe.refusal = {CountStatus::kNotCounted,
                     fmt::format("{} opened, but never ran", events.front().text),
                     machine.nmi_watchdog.value_or(false)
                         ? "the NMI watchdog holds a counter: sysctl kernel.nmi_watchdog=0"
                         : "another program may hold the counters"};
    return probe;
  }
  probe.runs = true;
  return probe;
}

}  // namespace hwprof
