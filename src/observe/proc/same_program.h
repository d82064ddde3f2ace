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

// Of all its threads, since it was forked: nobody sets them back, and an execve has some before it
// exchanges the memory and some after. Absent, with errno, where it has ended.
std::optional<std::uint64_t> page_faults_of(pid_t pid);

// What `open` gives while no whole execve comes between the beginning and the end of it: whoever
// uses that looks afterwards, with the user's rights, whether the process is at the other program
// still. `open` is asked again where one may have come; EAGAIN where that may be each time: the
// process touches new memory without pause.
UniqueFd open_of_one_program(pid_t pid, const std::function<UniqueFd()>& open);

}  // namespace hwprof::observe
