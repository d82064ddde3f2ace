#include "src/observe/monitor/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

namespace hwprof::observe {
namespace {

TEST(Channel, RefusesWhatIsNoMessage) {
  auto ends = Channel::make_pair();
  ASSERT_TRUE(ends);
  const auto& [left, right] = *ends;
  struct Head {
    std::uint64_t a, b;
  };
  std::string text;
  UniqueFd fd;
  Head head{};
  EXPECT_FALSE(left.send(Head{}, std::string(Channel::kMostText + 1, 'x')));
  ASSERT_TRUE(left.send(std::uint8_t{1}));
  EXPECT_FALSE(right.receive(head, text, fd)) << "too short";
  // Two descriptors.
  std::array<int, 2> pair{STDIN_FILENO, STDOUT_FILENO};
  iovec part{&head, sizeof head};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof pair)> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  *rights = {.cmsg_len = CMSG_LEN(sizeof pair), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  std::memcpy(CMSG_DATA(rights), pair.data(), sizeof pair);
  ASSERT_GT(::sendmsg(left.descriptor(), &message, 0), 0);
  EXPECT_FALSE(right.receive(head, text, fd)) << "more than one descriptor";
  EXPECT_FALSE(fd.valid());
}

TEST(Channel, CarriesADescriptor) {
  auto ends = Channel::make_pair();
  ASSERT_TRUE(ends);
  const auto& [left, right] = *ends;
  const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  int head = 0;
  std::string text;
  UniqueFd fd;
  ASSERT_TRUE(left.send(7, "text", file.get()));
  ASSERT_TRUE(right.receive(head, text, fd));
  EXPECT_EQ(head, 7);
  EXPECT_EQ(text, "text");
  EXPECT_TRUE(fd.valid());
}

// Its close may wait for whoever made it: a socket, a file of a FUSE file system.
TEST(Channel, LeavesADescriptorThatIsNotWantedWhereItLies) {
  auto ends = Channel::make_pair();
  ASSERT_TRUE(ends);
  const auto& [left, right] = *ends;
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK), 0);
  const UniqueFd reader(pipe[0]);
  UniqueFd writer(pipe[1]);
  ASSERT_TRUE(left.send(7, "text", writer.get()));
  writer.reset();
  int head = 0;
  std::string text;
  EXPECT_FALSE(right.receive(head, text));
  EXPECT_FALSE(right.receive(head, text)) << "it is the last";
  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), -1) << "it was closed";
}

}  // namespace
}  // namespace hwprof::observe
