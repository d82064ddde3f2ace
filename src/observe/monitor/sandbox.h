// What the worker gives up before it reads the first foreign byte.
#pragma once

#include "src/base/account.h"
#include "src/base/result.h"

namespace hwprof::observe {

// For good: takes the account's rights (root alone can have others), then no capabilities, no way
// to get rights by execve, a limit on its memory, and no system calls but those that reading,
// computing and starting children take. It ends with its parent.
Result<void> enter_sandbox(const Account& account);

}  // namespace hwprof::observe
