// What one part of hwprof sends to another, who may have been taken over: any bytes, with any
// number of descriptors.
#include "src/observe/monitor/channel.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <utility>

#include "src/observe/monitor/protocol.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace hwprof;
using namespace hwprof::observe;

bool send_raw(int to, std::string_view bytes, std::size_t descriptors) {
  static const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  constexpr std::size_t kMost = 3;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMost * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptors > 0) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors * sizeof(int));
    for (std::size_t i = 0; i < descriptors; ++i)
      std::memcpy(CMSG_DATA(rights) + i * sizeof null, &null, sizeof null);
  }
  return ::sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

void check_texts(const std::string& text) {
  for (const LeftProcess& process : processes_in(text)) {
    const auto again = processes_in(text_of(process));
    must(again.size() == 1 && again[0].pid == process.pid && again[0].name == process.name);
  }
  const Error error = error_in(Fault::kUsage, 1, text);
  must(error.what.find('\0') == std::string::npos && error.hint.find('\0') == std::string::npos);
}

template <class Head>
void check_message(std::string_view bytes, std::size_t descriptors, bool takes_one) {
  auto pair = Channel::make_pair();
  must(pair.has_value());
  // Which leaves its ends open (channel.h): there would soon be no more descriptors.
  struct Close {
    std::pair<Channel, Channel>& ends;
    ~Close() {
      ends.first.close();
      ends.second.close();
    }
  } const close{*pair};
  if (!send_raw(pair->first.descriptor(), bytes, descriptors)) return;
  Head head{};
  std::string text;
  UniqueFd given;
  const bool whole =
      takes_one ? pair->second.receive(head, text, given) : pair->second.receive(head, text);
  must(whole == (bytes.size() >= sizeof head && bytes.size() <= sizeof head + Channel::kMostText &&
                 descriptors <= (takes_one ? 1 : 0)));
  must(given.valid() == (whole && descriptors == 1));
  if (!whole) return;
  must(text == bytes.substr(sizeof head));
  check_texts(text);
}

}  // namespace

void fuzz(std::string_view text) {
  Feed feed(text);
  const std::size_t kind = feed.below(3), descriptors = feed.below(4);
  const bool takes_one = feed.below(2) != 0;
  if (kind == 0) check_message<Question>(feed.rest(), descriptors, takes_one);
  if (kind == 1) check_message<Answer>(feed.rest(), descriptors, takes_one);
  if (kind == 2) check_message<CommandEnded>(feed.rest(), descriptors, takes_one);
}
