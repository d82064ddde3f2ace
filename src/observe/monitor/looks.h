// What the monitor looks up in /proc of a user's processes: as root, by errands, which may not come
// back; then it is not known.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <vector>

#include "src/base/account.h"
#include "src/base/result.h"
#include "src/observe/monitor/errands.h"
#include "src/observe/monitor/protocol.h"

namespace hwprof::observe {

// Whose a running process is.
Result<Account> account_of(pid_t pid, std::chrono::milliseconds patience);

// Who has killed the first worker may kill the second one, too, if it is his. It reads nothing of
// the observed user's: as a number that no user has, none but root can signal it. Looks into
// /proc/self, which that user can hold once his program runs.
Account account_of_second_worker(const Account& user);

// Of a process that has ended and is not yet waited for, in s; negative: not known.
double waited_for_cpu(Errands& errands, pid_t pid, std::chrono::milliseconds patience);

// Those that are `adopted` and run now, with what descends from them; without names where that is
// not known. Asks again who is: a parent that has ended meanwhile has left its children.
std::vector<LeftProcess> left_behind(Errands& errands,
                                     const std::function<std::vector<pid_t>()>& adopted,
                                     std::chrono::milliseconds patience);

}  // namespace hwprof::observe
