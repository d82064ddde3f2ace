// What the tests of hwprof's parts share: a worker that asks, and says which line did not hold.
#pragma once

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstring>
#include <span>

#include "src/observe/monitor/monitor.h"
#include "src/observe/perf/rings.h"

namespace hwprof::observe {

// Runs `task` as a worker. What it returns is 0, or the number of its first line that failed.
inline Result<int> in_worker(const WorkerTask& task, const MonitorOptions& options = {}) {
  return run_split(options, task, [](MonitorClient&, const WorkerDeath&) { return -1; });
}

// In a worker gtest's own macros would tell another process.
#define HOLDS(condition)               \
  do {                                 \
    if (!(condition)) return __LINE__; \
  } while (false)

inline int code_of(const Result<MonitorClient::Reply>& reply) {
  return reply ? 0 : reply.error().code;
}

inline perf_event_attr clock_attr() {
  perf_event_attr attr = tree_event(kInstructionHits, false);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.sample_period = 1000000;
  attr.exclude_kernel = 1;
  return attr;
}

// Gives descriptors away beside these bytes.
inline bool send_with(int channel, const void* bytes, std::size_t size, std::span<const int> fds) {
  iovec part{const_cast<void*>(bytes), size};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(fds.size_bytes());
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  *rights = {
      .cmsg_len = CMSG_LEN(fds.size_bytes()), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  return ::sendmsg(channel, &message, MSG_NOSIGNAL) >= 0;
}

inline UniqueFd name_of(const char* path) { return UniqueFd(::open(path, O_PATH | O_CLOEXEC)); }

constexpr std::chrono::milliseconds kSoon{300};

}  // namespace hwprof::observe
