#include "src/observe/proc/private_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "src/base/account.h"

namespace hwprof {
namespace {

namespace fs = std::filesystem;

pid_t process_that_has_ended() {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  ::waitpid(pid, nullptr, 0);
  return pid;
}

class LeftOverFolder : public ::testing::Test {
 protected:
  // Of a hwprof with that number.
  static fs::path leave(pid_t owner) {
    std::string path = fs::temp_directory_path() / fmt::format("hwprof-left-{}-XXXXXX", owner);
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    std::ofstream(path + "/file") << "bytes";
    return path;
  }
  static void next_session() { EXPECT_TRUE(PrivateFolder::make("left")); }
};

TEST_F(LeftOverFolder, GoesWithTheNextSession) {
  const fs::path left = leave(process_that_has_ended()), in_use = leave(::getpid());
  next_session();
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(in_use / "file"));
  fs::remove_all(in_use);
}

// Its parent takes its exit code whenever it likes.
TEST_F(LeftOverFolder, GoesWhereItsOwnerIsAZombie) {
  const pid_t zombie = ::fork();
  if (zombie == 0) ::_exit(0);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(zombie), &ended, WEXITED | WNOWAIT), 0);
  const fs::path left = leave(zombie);
  next_session();
  EXPECT_FALSE(fs::exists(left));
  ::waitpid(zombie, nullptr, 0);
}

TEST_F(LeftOverFolder, OfAnotherUserIsLeftAloneByRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root could remove it";
  const auto nobody = find_account("nobody");
  ASSERT_TRUE(nobody);
  const fs::path left = leave(process_that_has_ended());
  ASSERT_EQ(::chown(left.c_str(), nobody->uid, nobody->gid), 0);
  next_session();
  EXPECT_TRUE(fs::exists(left / "file"));
  fs::remove_all(left);
}

// Who asks a file system that does not answer waits, whatever he asks for.
TEST_F(LeftOverFolder, ThatIsAMountIsNotLookedInto) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root mounts";
  constexpr int kNoMount = 77;
  const fs::path left = leave(process_that_has_ended());
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("hwprof-test", left.c_str(), "tmpfs", 0, "mode=0700") != 0)
      ::_exit(kNoMount);
    std::ofstream(left / "behind") << "bytes";
    next_session();
    ::_exit(fs::exists(left / "behind") ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  fs::remove_all(left);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoMount) GTEST_SKIP() << "no mounts here";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace hwprof
