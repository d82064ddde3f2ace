// Files that are written whole or not at all, so that nobody ever reads half a report: of commands,
// of regions, of traces.
#pragma once

#include <string>
#include <string_view>

#include "src/base/result.h"

namespace hwprof {

// Refuses early what cannot work (a directory, a folder that is missing or not writable), so that
// nobody waits for a measurement that cannot be saved. Creates nothing.
Result<void> check_writable(const std::string& path);

// Root writes with the rights of whoever owns the first folder or link on the way that is not
// root's: that user could put a link there that leads to any file, at any time.
//
// Replaces the file at `path`, links followed, and keeps its mode. What cannot be replaced (a
// device, a pipe) is appended to.
Result<void> write_file(const std::string& path, const std::string& bytes);

// Whether the name leads to what this process has open: a pipe of the shell's (`<(...)`), a
// terminal. /dev/shm is a folder that all may read. Not /dev/null, which is one of a name: whoever
// opens what he has found goes through /proc/self/fd, and of the monitor's that folder may be held.
bool is_open_file(std::string_view path);

// 0, or the errno of the write that failed: EPIPE for a closed pipe, without its signal. `waits`:
// also where the descriptor does not, as another program that has it too may have made it.
int write_all(int fd, std::string_view bytes, bool waits = true);

}  // namespace hwprof
