// Opens what belongs to the program that a process runs, such as its memory, so that it is of the
// program that was looked at: between the look and the opening the process could become a program
// with other rights (execve), and the user's own again before anybody looks a second time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "src/base/unique_fd.h"

namespace hwprof::observe {

// Of all its threads, since it was forked: an execve cannot be without some, and nobody sets them
// back. Absent, with errno, where it has ended.
std::optional<std::uint64_t> page_faults_of(pid_t pid);

// What `open` gives while no execve comes between the beginning and the end of it. `open` is asked
// again where one may have; EAGAIN where that may be each time: the process touches new memory
// without pause.
UniqueFd open_of_one_program(pid_t pid, const std::function<UniqueFd()>& open);

}  // namespace hwprof::observe
