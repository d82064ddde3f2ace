#include "counters/perf/group.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "counters/perf/open_event.h"

namespace hwprof {
namespace {

constexpr std::size_t kHeaderWords = 3;  // nr, time_enabled, time_running
constexpr std::size_t kMemberWords = 2;  // value, id

perf_event_attr attributes_of(const NativeEvent& event, const GroupOptions& options, bool leader) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = event.type;
  attr.config = event.config;
  attr.config1 = event.config1;
  attr.config2 = event.config2;
  // Only the leader starts disabled: members count whenever it does, so that one ioctl on the
  // leader switches the group.
  attr.disabled = leader;
  attr.enable_on_exec = leader && options.enable_on_exec;
  attr.inherit = options.inherit_threads || options.inherit_all;
  attr.inherit_thread = options.inherit_threads && !options.inherit_all;
  attr.exclude_user = event.exclude_user;
  attr.exclude_kernel = event.exclude_kernel || options.user_only;
  attr.exclude_hv = 1;
  attr.exclude_guest = 1;  // as perf has it; the PMU of an Apple M1 refuses anything else
  attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |
                     PERF_FORMAT_TOTAL_TIME_RUNNING;
  return attr;
}

tl::unexpected<Error> failed(const char* call, const std::string& event, int code) {
  return environment_error(code, fmt::format("{} for {}: {}", call, event, std::strerror(code)));
}

}  // namespace

Result<Group> Group::open(std::span<const NativeEvent> events, const GroupOptions& options) {
  Group group;
  for (const NativeEvent& event : events) {
    const bool leader = group.fds_.empty();
    const perf_event_attr attr = attributes_of(event, options, leader);
    const int group_fd = leader ? -1 : group.fds_.front().get();
    UniqueFd fd = open_event(attr, options.thread, -1, group_fd);
    if (!fd.valid()) return failed("perf_event_open", event.text, errno);
    std::uint64_t id = 0;
    if (retry_interrupted([&] { return ioctl(fd.get(), PERF_EVENT_IOC_ID, &id); }) != 0)
      return failed("PERF_EVENT_IOC_ID", event.text, errno);
    group.fds_.push_back(std::move(fd));
    group.ids_.push_back(id);
  }
  if (group.fds_.empty()) return environment_error(EINVAL, "a group needs an event");
  group.buffer_.resize(kHeaderWords + kMemberWords * group.fds_.size());
  return group;
}

Result<void> Group::enable() {
  const int leader = fds_.front().get();
  if (retry_interrupted([&] { return ioctl(leader, PERF_EVENT_IOC_ENABLE, 0); }) != 0)
    return failed("PERF_EVENT_IOC_ENABLE", "a group", errno);
  return {};
}

Result<void> Group::disable() {
  const int leader = fds_.front().get();
  if (retry_interrupted([&] { return ioctl(leader, PERF_EVENT_IOC_DISABLE, 0); }) != 0)
    return failed("PERF_EVENT_IOC_DISABLE", "a group", errno);
  return {};
}

Result<void> Group::read(RawReading& reading) const {
  const std::size_t bytes = buffer_.size() * sizeof buffer_[0];
  // Not ::read(): a thread could be cancelled in it, and it takes longer once there are threads, so
  // that what a region's edge costs would change after its calibration.
  const auto got = retry_interrupted(
      [&] { return syscall(SYS_read, fds_.front().get(), buffer_.data(), bytes); });
  if (got < 0) return failed("read", "a group", errno);
  // End of file is how the kernel says that a group is in the error state: not a count of zero.
  if (static_cast<std::size_t>(got) != bytes)
    return environment_error(0, fmt::format("a group of {} counters gave {} bytes instead of {}",
                                            fds_.size(), got, bytes));
  if (!parse_group_words(buffer_, ids_, reading))
    return environment_error(0, "the kernel returned the counters of another group");
  return {};
}

bool parse_group_words(std::span<const std::uint64_t> words, std::span<const std::uint64_t> ids,
                       RawReading& reading) {
  if (words.size() != kHeaderWords + kMemberWords * ids.size() || words[0] != ids.size())
    return false;
  reading.time_enabled_ns = words[1];
  reading.time_running_ns = words[2];
  reading.values.resize(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::span<const std::uint64_t> member =
        words.subspan(kHeaderWords + kMemberWords * i, kMemberWords);
    if (member[1] != ids[i]) return false;
    reading.values[i] = member[0];
  }
  return true;
}

}  // namespace hwprof
