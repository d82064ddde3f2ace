#include "counters/perf/open_event.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

namespace hwprof {
namespace {

EventOpener other_opener = nullptr;
std::atomic<int> highest_descriptor = -1;

UniqueFd open_here(perf_event_attr attr, pid_t tid, int cpu, int group_fd) {
  return UniqueFd(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attr, tid, cpu, group_fd, PERF_FLAG_FD_CLOEXEC)));
}

bool takes_the_last(int fd) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  const rlim_t reserved = std::min<rlim_t>(kReservedDescriptors, limit.rlim_cur / 4);
  return static_cast<rlim_t>(fd) + reserved >= limit.rlim_cur;
}

}  // namespace

UniqueFd open_event(perf_event_attr attr, pid_t tid, int cpu, int group_fd,
                    std::size_t ring_bytes) {
  UniqueFd event = other_opener != nullptr ? other_opener(attr, tid, cpu, group_fd, ring_bytes)
                                           : open_here(attr, tid, cpu, group_fd);
  if (event.valid() && takes_the_last(event.get())) {
    event.reset();
    errno = EMFILE;
  }
  if (event.get() > highest_descriptor) highest_descriptor = event.get();
  return event;
}

int highest_event_descriptor() { return highest_descriptor; }

void open_events_with(EventOpener opener) { other_opener = opener; }

bool opens_events_elsewhere() { return other_opener != nullptr; }

}  // namespace hwprof
