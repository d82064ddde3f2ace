// What is to be read of many processes of one user, opened with the rights of whoever started
// hwprof, by a process that reads none of it before it has given those rights away (sandbox.h).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "src/base/account.h"
#include "src/base/unique_fd.h"

namespace hwprof::observe {

// One that was seen: its number may be another's by now, and another user's.
struct SeenProcess {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;  // after boot, proc_pid_stat(5)
  uid_t user = 0;                 // effective
};

struct ProcessFiles {
  int error = 0;  // errno of what keeps all of it from being read; 0: none
  UniqueFd maps, environment;
  UniqueFd program, root;  // O_PATH
  UniqueFd memory;         // where it is not valid, the errno of that
  int memory_error = 0, environment_error = 0;
};

// By process; ESRCH where that is not the one that was seen, with the user that it had, or not
// started by that user, or not at one program from before to after. As root: of each process only
// what `account` may look into by the kernel's own rule, so that a program with rights that this
// user does not have stays closed to who reads in his name. `next` is told the number of each
// before it is opened, which may wait in the kernel.
std::vector<ProcessFiles> open_process_files(std::span<const SeenProcess> processes,
                                             const Account& account,
                                             const std::function<void(std::size_t)>& next);
inline constexpr std::size_t kFilesOfProcess = 5;

// The program that it runs, as the kernel names it; "" where that is not told.
std::string program_path(const ProcessFiles& files);
// The file that the process finds at `path`, if it is a regular one; errno where it is not valid.
UniqueFd open_in_root(const ProcessFiles& files, const std::string& path);

}  // namespace hwprof::observe
