#include "counters/region_edge.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

namespace hwprof {
namespace {

// arm64 (Linux 5.17) lets user space read an event only where its attributes ask for it: bit 1 of
// config1. Elsewhere the mapping alone decides.
std::vector<NativeEvent> asking_for_user_access(std::span<const NativeEvent> events) {
  std::vector<NativeEvent> asking(events.begin(), events.end());
#if defined(__aarch64__)
  constexpr std::uint64_t kUserAccess = 2;
  for (NativeEvent& event : asking)
    if (!event.is_software()) event.config1 |= kUserAccess;
#endif
  return asking;
}

// Descriptors are given out from the lowest number on, so a high one says that few are left.
bool crowds_out_the_program(const Group& group) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  for (std::size_t member = 0; member < group.size(); ++member)
    if (static_cast<rlim_t>(group.descriptor(member)) >= limit.rlim_cur / 4 * 3) return true;
  return false;
}

}  // namespace

Result<ThreadCounters> ThreadCounters::open(std::span<const NativeEvent> events, bool user_only) {
  GroupOptions options;
  options.user_only = user_only;
  auto group = Group::open(asking_for_user_access(events), options);
  if (!group) group = Group::open(events, options);
  if (!group) return error_of(group);
  if (crowds_out_the_program(*group))
    return environment_error(EMFILE, "three quarters of the file descriptors are taken");
  if (auto done = group->enable(); !done) return error_of(done);
  ThreadCounters counters(*std::move(group));
  Edge edge;
  if (!counters.read_group(edge))
    return environment_error(0, "the kernel gave no counts for the group");
  counters.map_pages();
  return counters;
}

void ThreadCounters::map_pages() {
  for (std::size_t member = 0; member < group_.size(); ++member) {
    pages_.emplace_back(group_.descriptor(member));
    const volatile perf_event_mmap_page* page = pages_.back().get();
    // A software event has no register; index 0 with the capability set is a sysctl's refusal.
    if (page == nullptr || !read_user_page(*page, read_counter_register)) return pages_.clear();
  }
  user_space_ = true;
}

bool ThreadCounters::read_in_user_space(Edge& edge) const {
  for (std::size_t member = 0; member < pages_.size(); ++member) {
    const auto reading = read_user_page(*pages_[member].get(), read_counter_register);
    if (!reading) return false;
    edge.values[member] = reading->value;
    if (member == 0) edge.missed_ns = reading->missed_ns;
  }
  edge.user_space = true;
  edge.enabled_ns = 0;
  return true;
}

bool ThreadCounters::read_group(Edge& edge) {
  edge.user_space = false;
  if (!group_.read(scratch_)) return false;
  edge.enabled_ns = scratch_.time_enabled_ns;
  edge.missed_ns = scratch_.time_enabled_ns - scratch_.time_running_ns;
  std::copy(scratch_.values.begin(), scratch_.values.end(), edge.values.begin());
  return true;
}

void ThreadCounters::forget_mappings() {
  for (UserPage& page : pages_) page.forget();
}

}  // namespace hwprof
