// One end of a SOCK_SEQPACKET pair between two parts of hwprof: a fixed head, a bounded text and at
// most one descriptor make a message, and one that is not so is refused. Whatever runs at the other
// end may have been taken over by the bytes that it read.
//
// A last close may wait for whoever made what is closed: a socket for its peer (SO_LINGER), a file
// for its file system, an event for the context of its task; also of one that lies in a queue, and
// the last two at a process's end, too. So a channel is shut down and left, and what the monitor
// has of a worker's is a keeper's, too, who ends after it (worker.cpp).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "src/base/result.h"
#include "src/base/unique_fd.h"

namespace hwprof::observe {

class Channel {
 public:
  static constexpr std::size_t kMostText = 32U << 10U;

  static Result<std::pair<Channel, Channel>> make_pair();

  [[nodiscard]] int descriptor() const { return fd_.get(); }
  // Never waits. False where the other end is gone or does not read, or the text is too long.
  template <class Head>
  [[nodiscard]] bool send(const Head& head, std::string_view text = {}, int fd = -1) const {
    static_assert(std::is_trivially_copyable_v<Head>);
    return send_bytes(&head, sizeof head, text, fd);
  }
  // Waits. False where the other end is gone, or has sent no such message. A descriptor is part of
  // none: the message stays in the channel with it, as the last.
  template <class Head>
  [[nodiscard]] bool receive(Head& head, std::string& text) const {
    static_assert(std::is_trivially_copyable_v<Head>);
    return receive_bytes(&head, sizeof head, text, nullptr);
  }
  // The same, with a descriptor or none: for whom a close may wait.
  template <class Head>
  [[nodiscard]] bool receive(Head& head, std::string& text, UniqueFd& fd) const {
    static_assert(std::is_trivially_copyable_v<Head>);
    return receive_bytes(&head, sizeof head, text, &fd);
  }
  Channel(Channel&&) = default;
  Channel& operator=(Channel&&) = delete;
  ~Channel() { leave(); }
  // Nothing comes or goes any more, whoever holds the other end.
  void leave();
  // Of one that the other process of a fork goes on with, before anything was sent.
  void close() { fd_.reset(); }

 private:
  explicit Channel(int fd) : fd_(fd) {}
  [[nodiscard]] bool next_has_descriptor() const;
  bool send_bytes(const void* head, std::size_t size, std::string_view text, int fd) const;
  bool receive_bytes(void* head, std::size_t size, std::string& text, UniqueFd* fd) const;

  UniqueFd fd_;
};

}  // namespace hwprof::observe
