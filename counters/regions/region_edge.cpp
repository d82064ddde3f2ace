#include "counters/regions/region_edge.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

namespace hwprof {
namespace {

// Between two edges of a region fewer events than this: 2^32 instructions take no second.
constexpr unsigned kLeastWidth = 48;

// arm64 (Linux 5.17) lets user space read an event only where its attributes ask for it: bit 1 of
// config1; bit 0 asks for 64 bits, which PMUs before PMUv3p5 have for cycles only. Elsewhere the
// mapping alone decides.
std::vector<NativeEvent> asking_for_user_access(std::span<const NativeEvent> events) {
  std::vector<NativeEvent> asking(events.begin(), events.end());
#if defined(__aarch64__)
  constexpr std::uint64_t kUserAccess = 3;
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
  TRY(auto& opened, group);
  if (crowds_out_the_program(opened))
    return environment_error(EMFILE, "three quarters of the file descriptors are taken");
  TRY(opened.enable());
  ThreadCounters counters(std::move(opened));
  Edge edge;
  if (!counters.read_by_call(edge))
    return environment_error(0, "the kernel gave no counts for the group");
  counters.map_pages();
  return counters;
}

void ThreadCounters::map_pages() {
  for (std::size_t i = 0; i < group_.size(); ++i) {
    Member& member = members_.emplace_back();
    member.page = UserPage(group_.descriptor(i));
    // A software event has no register; index 0 with the capability set is a sysctl's refusal.
    const auto width =
        member.page.get() == nullptr ? std::nullopt : readable_width(*member.page.get());
    if (!width || *width < kLeastWidth) return members_.clear();
    member.unused_bits = 64 - *width;
  }
  in_use_ = {members_.data(), members_.data() + members_.size()};
  // From here on, counts are made of what was read last.
  Edge edge;
  if (!read_by_call(edge) ||
      !read_in_user_space(in_use_, missed_ns_alone_, [](std::size_t, std::uint64_t) {}))
    return;
  page_has_counter_ = hwprof::page_has_counter(*in_use_.first->page.get());
  user_space_ = true;
}

bool ThreadCounters::read(Edge& edge) {
  const auto take = [&](std::size_t number, std::uint64_t value) { edge.values[number] = value; };
  if (user_space_ && read_in_user_space(in_use_, edge.missed_ns, take)) {
    edge.read_by = ReadBy::kUserSpace;
    return true;
  }
  return read_by_call(edge);
}

bool ThreadCounters::read_by_call(Edge& edge) {
  edge.read_by = ReadBy::kNobody;
  if (!group_.read(scratch_)) return false;
  edge.read_by = ReadBy::kCall;
  edge.enabled_ns = scratch_.time_enabled_ns;
  edge.missed_ns = scratch_.time_enabled_ns - scratch_.time_running_ns;
  std::copy(scratch_.values.begin(), scratch_.values.end(), edge.values.begin());
  for (std::size_t i = 0; i < members_.size(); ++i) members_[i].last = scratch_.values[i];
  return true;
}

void ThreadCounters::forget_mappings() {
  for (Member& member : members_) member.page.forget();
}

}  // namespace hwprof
