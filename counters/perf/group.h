// One perf_event group of one thread: opened, enabled, read and closed as a whole, so that its
// numbers belong to the same stretch of time. A thin shell around the system calls.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "counters/events/native_event.h"
#include "counters/perf/reading.h"
#include "src/base/result.h"
#include "src/base/unique_fd.h"

namespace hwprof {

struct GroupOptions {
  pid_t thread = 0;              // 0: the caller
  bool user_only = false;        // leave out what the kernel does
  bool inherit_threads = false;  // count the threads that this thread starts from now on, too
  bool inherit_all = false;      // and the processes, and what those start
  bool enable_on_exec = false;   // enabled by the next execve of this thread
};

class Group {
 public:
  // Disabled at first. Error::code is the errno; explain_open_failure() knows what it means.
  static Result<Group> open(std::span<const NativeEvent> events, const GroupOptions& options);

  Result<void> enable();
  Result<void> disable();
  // Counts since open(), while enabled; replaces the content of `reading`.
  Result<void> read(RawReading& reading) const;

  [[nodiscard]] std::size_t size() const { return fds_.size(); }
  // Of one member, to map its page; stays the group's.
  [[nodiscard]] int descriptor(std::size_t member) const { return fds_[member].get(); }

 private:
  std::vector<UniqueFd> fds_;       // the leader first
  std::vector<std::uint64_t> ids_;  // PERF_EVENT_IOC_ID of each
  mutable std::vector<std::uint64_t> buffer_;
};

// PERF_FORMAT_GROUP | ID | both times, as read() of the leader returns it -> values in the order
// of `ids`. False when the words are not those of exactly these members. Pure.
bool parse_group_words(std::span<const std::uint64_t> words, std::span<const std::uint64_t> ids,
                       RawReading& reading);

}  // namespace hwprof
