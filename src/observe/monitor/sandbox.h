// What the worker gives up before it reads the first foreign byte.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "src/base/account.h"
#include "src/base/result.h"

namespace hwprof::observe {

// What hwprof was started with, and what another part of it has open. The standard ones stay.
void close_all_but(std::vector<int> kept);

// Who waits for the end of hwprof's output, or for what hwprof was started with, does not wait for
// a process that hangs.
void leave_what_is_hwprofs(const std::vector<int>& kept);

// The kernel forgets it whenever rights change (ActingAs).
void end_with_parent(pid_t parent);

// Those alone whose names begin so; the others' bytes are overwritten.
void keep_variables(std::span<const std::string> kept);

// What is whoever's who attached hwprof, and not the observed user's: the terminal, what could be
// read from standard input, and the environment but for what a terminal or the loader of programs
// reads, and `kept`.
void leave_what_is_the_starters(std::vector<std::string> kept);

// For good: takes the account's rights (root alone can have others), then no capabilities, no way
// to get rights by execve, a limit on its memory, and no system calls but those that reading,
// computing and starting children take. It ends with its parent.
// Of its descriptors it keeps these, and the standard ones.
Result<void> enter_sandbox(const Account& account, std::vector<int> kept);

}  // namespace hwprof::observe
