// Runs a program with a deadline, without a shell, and keeps what it says: a BLAS that hangs or
// dies under a core type must cost a rung of the ladder, never the run. Below it stands what it has
// in common with src/observe/proc/child.h, whose children are held until their observers are there.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/base/unique_fd.h"

namespace hwprof {

struct ChildOutput {
  std::string out;         // standard output, the first 64 KiB; standard error is thrown away
  bool timed_out = false;  // killed at the deadline
  int exit_code = 0;       // 128 + n for signal n
};

// `environment` holds all of "NAME=value". When this returns, the child has ended and is reaped,
// and no descriptor is left; none of ours but the pipe is passed on.
Result<ChildOutput> child_output(const std::string& program,
                                 const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& environment,
                                 std::chrono::steady_clock::time_point deadline);

// Why a child that printed nothing did not: killed after `allowed`, or crashed.
std::string why_it_ended(const ChildOutput& output, std::chrono::milliseconds allowed);

// Both ends are close-on-exec.
struct Pipe {
  UniqueFd reader, writer;
};
Result<Pipe> make_pipe();

// As execve(2) takes them, null at the end; they point into `texts`.
std::vector<char*> pointers_to(const std::vector<std::string>& texts);

// Reads until the other end is closed or `out` has `most` bytes; false when the deadline comes
// first.
bool read_until(int fd, std::chrono::steady_clock::time_point deadline, std::size_t most,
                std::string& out);
// Takes its end; false when the deadline comes first.
bool reap_until(pid_t child, std::chrono::steady_clock::time_point deadline, int& status);

// Kills it and takes its end; gives up after a second where another process traces it and keeps
// that, or where it does not end (a file system of somebody's own making).
void end_child(pid_t child);

// Readable once it has ended (pidfd_open(2)); a child of which that cannot be known is ended.
Result<UniqueFd> watch_child(pid_t child);

// From what wait(2) tells: "ended with exit code 3", "was killed by SIGSEGV".
std::string how_it_ended(int status);

// From what wait(2) tells: 128 + n for signal n, as shells have it.
int exit_code_from(int status);

}  // namespace hwprof
