#include "src/base/account.h"

#include <fmt/format.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <pwd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "src/base/text.h"

namespace hwprof {
namespace {

constexpr int kMostGroups = 65536;  // NGROUPS_MAX of Linux
constexpr gid_t kNoGroup = 65534;   // as the kernel shows a group that it has no name for

// Between blanks and tabs.
std::vector<gid_t> numbers_in(std::string words) {
  std::replace(words.begin(), words.end(), '\t', ' ');
  std::vector<gid_t> numbers;
  for (const std::string_view word : split(words, ' '))
    if (const auto number = parse_unsigned(word)) numbers.push_back(static_cast<gid_t>(*number));
  return numbers;
}

// The numbers of a line of /proc/PID/status: "Uid:\t0\t0\t0\t0".
std::vector<gid_t> numbers_of(std::string_view status, std::string_view name) {
  for (const std::string_view line : split(status, '\n'))
    if (line.starts_with(name)) return numbers_in(std::string(line.substr(name.size())));
  return {};
}

Account account_in(const passwd& entry) {
  Account account{entry.pw_uid, entry.pw_gid, {}, entry.pw_name, entry.pw_dir};
  int count = 64;
  account.groups.resize(static_cast<std::size_t>(count));
  while (::getgrouplist(entry.pw_name, account.gid, account.groups.data(), &count) < 0 &&
         count <= kMostGroups) {
    account.groups.resize(static_cast<std::size_t>(count));
  }
  account.groups.resize(static_cast<std::size_t>(count));
  return account;
}

// Root of a user namespace that a user has made for himself may set none (user_namespaces(7)):
// there it keeps its own, which are that user's.
bool set_groups(const Account& account) {
  return ::setgroups(account.groups.size(), account.groups.data()) == 0 ||
         account.uid == ::geteuid();
}

// Of this process: all that are permitted, or none. The permitted ones stay, so that they can come
// back.
bool set_effective_capabilities(bool all) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return false;
  for (__user_cap_data_struct& set : sets) set.effective = all ? set.permitted : 0;
  return ::syscall(SYS_capset, &header, sets.data()) == 0;
}

}  // namespace

Result<Account> find_account(const std::string& name) {
  errno = 0;
  const passwd* entry = ::getpwnam(name.c_str());
  if (entry == nullptr) {
    return usage_error(fmt::format("--user {}: there is no such user", name),
                       "give a name that getent passwd knows");
  }
  if (::geteuid() != 0 && entry->pw_uid != ::geteuid()) {
    return usage_error(fmt::format("--user {}: only root can become another user", name),
                       "run hwprof as root, or leave --user out");
  }
  return account_in(*entry);
}

Result<Account> account_in(const std::string& status, pid_t pid) {
  const std::vector<gid_t> uids = numbers_of(status, "Uid:");
  const std::vector<gid_t> gids = numbers_of(status, "Gid:");
  if (uids.size() < 2 || gids.size() < 2) {
    return environment_error(
        ESRCH, fmt::format("whose process {} is cannot be read: it may have ended", pid));
  }
  return Account{uids[0], gids[0], numbers_of(status, "Groups:"), {}, {}};
}

Account account_of_user(uid_t uid) {
  const passwd* entry = ::getpwuid(uid);
  return entry != nullptr ? account_in(*entry) : Account{uid, kNoGroup, {}, {}, {}};
}

bool is_mapped(uid_t uid) {
  const std::string map = read_text_file("/proc/self/uid_map").value_or("");
  for (const std::string_view line : split(map, '\n')) {
    const auto numbers = numbers_in(std::string(line));  // first within, first outside, how many
    if (numbers.size() == 3 && uid >= numbers[0] && uid - numbers[0] < numbers[2]) return true;
  }
  return false;
}

Account own_account() {
  Account account{::geteuid(), ::getegid(), {}, {}, {}};
  const int count = ::getgroups(0, nullptr);
  account.groups.resize(static_cast<std::size_t>(std::max(0, count)));
  const int got = ::getgroups(count, account.groups.data());
  account.groups.resize(static_cast<std::size_t>(std::max(0, got)));
  return account;
}

bool become(const Account& account) {
  // The groups first: without root's rights they can no longer be set.
  const bool changes = ::geteuid() == 0 && account.uid != 0;
  if ((::geteuid() == 0 && !set_groups(account)) || ::setgid(account.gid) != 0 ||
      ::setuid(account.uid) != 0) {
    return false;
  }
  // Keys that root has in its session's keyring are whoever's who has that (session-keyring(7)). A
  // kernel without keys refuses the call.
  if (changes) ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
  return true;
}

// The user last, and first on the way back: only root may change the groups.
ActingAs::ActingAs(const Account& account) : gid_(::getegid()), groups_(own_account().groups) {
  valid_ = set_groups(account) && ::setegid(account.gid) == 0 && ::seteuid(account.uid) == 0 &&
           set_effective_capabilities(false);
  if (valid_) return;
  const int why = errno;
  restore();
  errno = why;
}

ActingAs::~ActingAs() {
  if (!valid_) return;
  const int why = errno;
  restore();
  errno = why;
}

// What may not fail: a process that stayed the user's could no longer clean up after itself.
void ActingAs::restore() {
  if (::seteuid(0) != 0) std::abort();
  set_effective_capabilities(true);
  if (::setegid(gid_) != 0 || !set_groups({0, gid_, groups_, {}, {}})) std::abort();
}

}  // namespace hwprof
