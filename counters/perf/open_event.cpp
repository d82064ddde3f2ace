#include "counters/perf/open_event.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace hwprof {
namespace {

EventOpener other_opener = nullptr;

}  // namespace

UniqueFd open_event(perf_event_attr attr, pid_t tid, int cpu, int group_fd,
                    std::size_t ring_bytes) {
  if (other_opener != nullptr) return other_opener(attr, tid, cpu, group_fd, ring_bytes);
  return UniqueFd(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attr, tid, cpu, group_fd, PERF_FLAG_FD_CLOEXEC)));
}

void open_events_with(EventOpener opener) { other_opener = opener; }

}  // namespace hwprof
