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
// Of a running process: its effective rights.
Result<Account> account_of(pid_t pid);
Account own_account();

// Takes its rights for good. False, with errno, where they are refused. Async-signal-safe.
bool become(const Account& account);

}  // namespace hwprof
