// perf_event_open(2): the one place that calls it.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstddef>

#include "src/base/unique_fd.h"

namespace hwprof {

// Events take a descriptor for each thread and CPU. They leave so many to those who read /proc, and
// what they find there is never "nothing" only because nobody could look. Of a limit of few, a
// quarter.
inline constexpr unsigned kReservedDescriptors = 64;

// EMFILE where it would take one of those. Of one task (0: the caller) on one CPU (-1: any),
// close-on-exec; errno where it is not valid. `ring_bytes`: how large a ring the caller will map
// for its records.
UniqueFd open_event(perf_event_attr attr, pid_t tid, int cpu, int group_fd,
                    std::size_t ring_bytes = 0);

// Of all events that were opened so far; -1: none was.
int highest_event_descriptor();

// For a process that has given its rights away, and asks another one to open its events.
using EventOpener = UniqueFd (*)(const perf_event_attr& attr, pid_t tid, int cpu, int group_fd,
                                 std::size_t ring_bytes);
void open_events_with(EventOpener opener);
bool opens_events_elsewhere();

}  // namespace hwprof
