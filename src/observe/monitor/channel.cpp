#include "src/observe/monitor/channel.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace hwprof::observe {

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

// Looked at where it lies: no number is given to the descriptor here, and nothing is closed.
bool Channel::next_has_descriptor() const {
  msghdr message{};
  return retry_interrupted([&] { return ::recvmsg(fd_.get(), &message, MSG_PEEK); }) >= 0 &&
         (message.msg_flags & MSG_CTRUNC) != 0;
}

bool Channel::receive_bytes(void* head, std::size_t size, std::string& text, UniqueFd* fd) const {
  text.resize(kMostText);
  if (fd == nullptr && next_has_descriptor()) return false;
  std::array<iovec, 2> parts{{{head, size}, {text.data(), text.size()}}};
  constexpr std::size_t kOne = CMSG_LEN(sizeof(int));  // the kernel gives no second one
  alignas(cmsghdr) std::array<char, kOne> control{};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  if (fd != nullptr) {
    fd->reset();
    message.msg_control = control.data();
    message.msg_controllen = control.size();
  }
  const ssize_t got =
      retry_interrupted([&] { return ::recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC); });
  const cmsghdr* rights = fd == nullptr || got < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (rights != nullptr && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS) {
    int one = -1;
    std::memcpy(&one, CMSG_DATA(rights), sizeof one);
    fd->reset(one);
  }
  const bool whole =
      got >= static_cast<ssize_t>(size) && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  if (!whole && fd != nullptr) fd->reset();
  text.resize(whole ? static_cast<std::size_t>(got) - size : 0);
  return whole;
}

}  // namespace hwprof::observe
