// Whose rights a process gets.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "src/base/result.h"

namespace hwprof {

struct Account {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
  std::string name, home;  // empty where only the rights are known
};

// Fault::kUsage where no such user exists, or this user may not become another.
Result<Account> find_account(const std::string& name);
// Of a process, by /proc/PID/status: those of the user who started it, not what a setuid program
// has besides.
Result<Account> account_in(const std::string& status, pid_t pid);
// With that user's groups; without any where nobody knows the user.
Account account_of_user(uid_t uid);
Account own_account();
// Whether this user namespace has such a user. Files of those that it has not seem to be nobody's,
// whose rights even its root cannot take (user_namespaces(7)).
bool is_mapped(uid_t uid);

// Takes its rights for good. False, with errno, where they are refused. Async-signal-safe.
bool become(const Account& account);

// While it lives, root has the rights of that user and no others: on files, and on processes. For
// one thread at a time. Another process of the user cannot reach this one meanwhile
// (credentials(7): the real and the saved user stay root's).
class ActingAs {
 public:
  explicit ActingAs(const Account& account);
  ~ActingAs();
  ActingAs(const ActingAs&) = delete;
  ActingAs& operator=(const ActingAs&) = delete;

  // Else, with errno, this process may not become others: nothing may be done in their name.
  [[nodiscard]] bool valid() const { return valid_; }

 private:
  void restore();

  bool valid_ = false;
  gid_t gid_ = 0;
  std::vector<gid_t> groups_;
};

}  // namespace hwprof
