#include "src/observe/proc/foreign_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "src/base/spawn.h"

namespace hwprof::observe {
namespace {

// What was opened of it before is of another program than what is opened now.
TEST(ForeignMemory, IsNoMoreInUseAfterAnExecve) {
  Result<Pipe> go = make_pipe();
  ASSERT_TRUE(go);
  const pid_t child = ::fork();
  if (child == 0) {
    go->writer.reset();
    char byte = 0;
    if (::read(go->reader.get(), &byte, 1) == 1) ::execl("/bin/sleep", "sleep", "60", nullptr);
    ::_exit(1);
  }
  const auto open_map = [&] {
    return open_foreign_here({.kind = ForeignFile::Kind::kMaps, .pid = child, .path = {}});
  };
  const UniqueFd before = open_map();
  EXPECT_TRUE(is_in_use(before));
  EXPECT_TRUE(is_in_use(before)) << "to ask changes nothing";
  EXPECT_EQ(::write(go->writer.get(), "x", 1), 1);
  for (int i = 0; i < 10'000 && is_in_use(before); ++i) ::usleep(1000);
  EXPECT_FALSE(is_in_use(before));
  EXPECT_TRUE(is_in_use(open_map()));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(is_in_use({}));
}

}  // namespace
}  // namespace hwprof::observe
