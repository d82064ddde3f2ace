#include "src/observe/monitor/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>

#include "tests/monitor_setup.h"

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
  const std::array<int, 2> pair{STDIN_FILENO, STDOUT_FILENO};
  ASSERT_TRUE(send_with(left.descriptor(), &head, sizeof head, pair));
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
