// Opens what belongs to the program that a process runs, such as its memory, so that it is of the
// program that was looked at: between the look and the opening the process could become a program
// with other rights (execve), and the user's own again before anybody looks a second time.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "src/base/unique_fd.h"

namespace hwprof::observe {

// What no execve leaves as it was, of the bytes of /proc/PID/stat. It has page faults before it
// exchanges the memory and after, which nobody sets back, but what lies between can be made long (a
// `#!` line, or a page, of a file system that does not answer): then the new memory has other
// addresses, or none yet. They are equal where kernel.randomize_va_space is 0 alone.
struct ProgramMarks {
  std::uint64_t page_faults = 0;              // of all threads, since the process was forked
  std::array<std::uint64_t, 10> addresses{};  // of code, stack, data, heap, arguments, environment
  bool operator==(const ProgramMarks&) const = default;
};
std::optional<ProgramMarks> program_marks_in(std::string_view stat);

// What `open` gives while the process is at one program from before to after it. `open` is asked
// again where it may not have been; EAGAIN where that may be each time: the process touches new
// memory without pause. ESRCH where it has ended.
UniqueFd open_of_one_program(pid_t pid, const std::function<UniqueFd()>& open);

}  // namespace hwprof::observe
