#include "src/observe/monitor/channel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace hwprof::observe {
namespace {

// What the worker has to give the monitor: names of files (O_PATH), and events. A file that is open
// asks its file system at each close (FUSE_FLUSH), which may be a program of that user's.
bool closes_at_once(const UniqueFd& fd) {
  if ((::fcntl(fd.get(), F_GETFL) & O_PATH) != 0) return true;
  constexpr std::string_view kEvent = "anon_inode:[perf_event]";
  std::array<char, kEvent.size() + 1> name{};
  const ssize_t length =
      ::readlink(fmt::format("/proc/self/fd/{}", fd.get()).c_str(), name.data(), name.size());
  return length >= 0 && std::string_view(name.data(), static_cast<std::size_t>(length)) == kEvent;
}

}  // namespace

Result<std::pair<Channel, Channel>> Channel::make_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return environment_error(errno, fmt::format("socketpair: {}", std::strerror(errno)));
  }
  return std::pair(Channel(ends[0]), Channel(ends[1]));
}

bool Channel::send_bytes(const void* head, std::size_t size, std::string_view text, int fd) const {
  if (text.size() > kMostText) return false;
  std::array<iovec, 2> parts{
      {{const_cast<void*>(head), size}, {const_cast<char*>(text.data()), text.size()}}};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  if (fd >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  }
  const ssize_t sent = retry_interrupted(
      [&] { return ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT); });
  return sent == static_cast<ssize_t>(size + text.size());
}

void Channel::leave() {
  if (fd_.valid()) ::shutdown(fd_.release(), SHUT_RDWR);
}

// Of the next message, which keeps it as well: what is refused here stays there, and is not closed.
bool Channel::take_descriptor(UniqueFd& fd, bool trusted) const {
  constexpr std::size_t kOne = CMSG_LEN(sizeof(int));  // the kernel gives no second one
  alignas(cmsghdr) std::array<char, kOne> control{};
  msghdr message{};
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (retry_interrupted(
          [&] { return ::recvmsg(fd_.get(), &message, MSG_PEEK | MSG_CMSG_CLOEXEC); }) < 0)
    return false;
  const cmsghdr* rights = CMSG_FIRSTHDR(&message);
  if (rights != nullptr && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS) {
    int one = -1;
    std::memcpy(&one, CMSG_DATA(rights), sizeof one);
    fd.reset(one);
  }
  return (message.msg_flags & MSG_CTRUNC) == 0 && (!fd.valid() || trusted || closes_at_once(fd));
}

bool Channel::receive_bytes(void* head, std::size_t size, std::string& text, UniqueFd& fd,
                            bool trusted) const {
  text.resize(kMostText);
  fd.reset();
  if (!take_descriptor(fd, trusted)) {
    static_cast<void>(fd.release());  // open to the end, and the last: nothing comes any more
    return false;
  }
  std::array<iovec, 2> parts{{{head, size}, {text.data(), text.size()}}};
  msghdr message{};  // no room for the descriptor: it is here
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const ssize_t got = retry_interrupted([&] { return ::recvmsg(fd_.get(), &message, 0); });
  const bool whole = got >= static_cast<ssize_t>(size) && (message.msg_flags & MSG_TRUNC) == 0;
  text.resize(whole ? static_cast<std::size_t>(got) - size : 0);
  return whole;
}

}  // namespace hwprof::observe
