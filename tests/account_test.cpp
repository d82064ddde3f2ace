#include "src/base/account.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/keyctl.h>
#include <pwd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "src/base/text.h"
#include "src/base/unique_fd.h"
#include "tests/temporary_file.h"

namespace hwprof {
namespace {

std::string effective_capabilities() {
  const std::string status = read_text_file("/proc/self/status").value_or("");
  const auto at = status.find("CapEff:");
  return at == std::string::npos ? "" : status.substr(at, status.find('\n', at) - at);
}

TEST(Account, ActingAsAUserTakesThatUsersRightsAndGivesThemBack) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become others";
  const auto nobody = find_account("nobody");
  ASSERT_TRUE(nobody);
  const TemporaryFile secret("secret");
  ASSERT_EQ(::chmod(secret.path().c_str(), 0600), 0);
  const auto readable = [&] {
    return UniqueFd(::open(secret.path().c_str(), O_RDONLY | O_CLOEXEC)).valid();
  };
  const std::string before = effective_capabilities();
  const auto groups = own_account().groups;
  {
    const ActingAs user(*nobody);
    ASSERT_TRUE(user.valid());
    EXPECT_FALSE(readable());
    const TemporaryFile own("file of that user");
    struct stat status {};
    ASSERT_EQ(::stat(own.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, nobody->uid);
    EXPECT_EQ(own_account().groups, nobody->groups);
    EXPECT_EQ(effective_capabilities(), "CapEff:\t0000000000000000");
  }
  EXPECT_TRUE(readable());
  EXPECT_EQ(own_account().groups, groups);
  EXPECT_EQ(effective_capabilities(), before);
}

// He could let it run last of all, and it would stay so. The capabilities that it keeps to come
// back with are what the kernel refuses him for (security/commoncap.c, cap_safe_nice).
TEST(Account, ActingAsAUserIsNotThatUsersToSlowDown) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become others";
  const auto nobody = find_account("nobody");
  ASSERT_TRUE(nobody);
  const pid_t acting = ::getpid();
  std::array<int, 2> go{-1, -1};
  ASSERT_EQ(::pipe(go.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char byte = 0;
    if (!become(*nobody) || ::read(go[0], &byte, 1) != 1) ::_exit(3);
    const bool refused = ::setpriority(PRIO_PROCESS, static_cast<id_t>(acting), 1) != 0;
    ::_exit(refused && errno == EPERM ? 0 : 1);
  }
  int status = -1;
  {
    const ActingAs user(*nobody);
    EXPECT_TRUE(user.valid());
    EXPECT_EQ(::write(go[1], "x", 1), 1);
    ::waitpid(child, &status, 0);
  }
  ::close(go[0]);
  ::close(go[1]);
  EXPECT_EQ(status, 0);
}

// Root without capabilities is not what opens files of other processes.
TEST(Account, ActingAsRootLeavesNoCapability) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has any";
  const std::string before = effective_capabilities();
  {
    const ActingAs user(own_account());
    ASSERT_TRUE(user.valid());
    EXPECT_EQ(effective_capabilities(), "CapEff:\t0000000000000000");
  }
  EXPECT_EQ(effective_capabilities(), before);
}

TEST(Account, AnotherUserHasNoKeysOfRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become others";
  const auto nobody = find_account("nobody");
  ASSERT_TRUE(nobody);
  constexpr int kNoKeys = 77;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 ||
        ::syscall(SYS_add_key, "user", "hwprof-test", "secret", 6, KEY_SPEC_SESSION_KEYRING) < 0)
      ::_exit(kNoKeys);
    if (!become(*nobody)) ::_exit(1);
    const auto found =
        ::syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", "hwprof-test", 0);
    ::_exit(found < 0 ? 0 : 2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoKeys) GTEST_SKIP() << "no keys here";
  EXPECT_EQ(status, 0);
}

TEST(Account, OfThisNamespaceIsMapped) {
  EXPECT_TRUE(is_mapped(::geteuid()));
  EXPECT_FALSE(is_mapped(~uid_t{0}));  // nobody's anywhere
}

TEST(Account, OfAProcessIsItsUsers) {
  const auto own = account_in(read_text_file("/proc/self/status").value_or(""), ::getpid());
  ASSERT_TRUE(own);
  EXPECT_EQ(own->uid, ::getuid());
  EXPECT_EQ(own->gid, ::getgid());
  EXPECT_FALSE(account_in("", 0));
}

TEST(Account, OfAUserNobodyKnowsHasNoGroups) {
  constexpr uid_t kUnknown = 4'000'000'001;
  if (::getpwuid(kUnknown) != nullptr) GTEST_SKIP() << "somebody does";
  EXPECT_EQ(account_of_user(kUnknown).uid, kUnknown);
  EXPECT_TRUE(account_of_user(kUnknown).groups.empty());
  EXPECT_NE(account_of_user(kUnknown).gid, 0U);
}

}  // namespace
}  // namespace hwprof
