// What the tests of hwprof's parts share: a worker that asks, and says which line did not hold.
#pragma once

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/text.h"
#include "src/observe/monitor/monitor.h"
#include "src/observe/monitor/worker.h"
#include "src/observe/perf/rings.h"
#include "src/observe/proc/processes.h"

namespace hwprof::observe {

// Runs `task` as a worker. What it returns is 0, or the number of its first line that failed.
inline Result<int> in_worker(const WorkerTask& task, const MonitorOptions& options = {}) {
  return run_split(options, task, [](MonitorClient&, const WorkerDeath&) { return -1; });
}

// In a worker: the command from its start to its end.
inline Result<CommandEnd> run_command(MonitorClient& monitor) {
  TRY(monitor.start({}));
  TRY(monitor.release());
  return monitor.wait();
}

// Those of a monitor's, but for what ends after it.
inline std::vector<pid_t> children_but_keepers(pid_t monitor) {
  std::vector<pid_t> children;
  for (const pid_t child : children_of(monitor)) {
    const auto name = read_text_file("/proc/" + std::to_string(child) + "/comm");
    if (name && trim(*name) != kKeeperName) children.push_back(child);
  }
  return children;
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

// In a worker that has opened no socket: to the hand, to the monitor, and for the command's end.
inline std::vector<int> channels() {
  std::vector<int> sockets;
  struct stat status {};
  for (int fd = STDERR_FILENO + 1; fd < 1024; ++fd)
    if (::fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode)) sockets.push_back(fd);
  return sockets;
}

// Empty where none came.
inline UniqueFd receive_descriptor(int socket) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1 || CMSG_FIRSTHDR(&message) == nullptr)
    return {};
  int given = -1;
  std::memcpy(&given, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof given);
  return UniqueFd(given);
}

inline sockaddr_un hidden_name(std::string_view what, long number) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "hwprof-test-%.*s-%ld",
                static_cast<int>(what.size()), what.data(), number);
  return name;
}

inline UniqueFd name_of(const char* path) { return UniqueFd(::open(path, O_PATH | O_CLOEXEC)); }

constexpr std::chrono::milliseconds kSoon{300};

}  // namespace hwprof::observe
