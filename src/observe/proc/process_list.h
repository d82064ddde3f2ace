// The running programs of the machine, by what the kernel itself says of them: nothing here is text
// that a process wrote, but for its name.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/account.h"

namespace hwprof {

struct ListedProcess {
  pid_t pid = 0;
  std::string name;               // as `ps -o comm`
  uid_t user = 0;                 // effective
  Account starter;                // the rights that it was started with (account.h), without names
  std::uint64_t start_ticks = 0;  // after boot: with the pid, it names one process for ever
  double cpu_s = 0;               // its own threads'
  std::uint64_t threads = 0;
  bool main_ended = false;  // its first thread, where others go on: its files in /proc are empty
  std::string cgroup;       // the bytes of that file; "" where there is none
};

// Of the bytes of /proc/PID/stat and status; absent for threads of the kernel and what has ended.
std::optional<ListedProcess> listed_process(pid_t pid, std::string_view stat,
                                            const std::string& status);

// CPU time by the time since it began; absent where that is too short to tell.
std::optional<double> cpus_used_in_life(const ListedProcess& process, double now_after_boot_s);
double seconds_after_boot();

struct Job {
  std::string name;  // "slurm 123.0", "session-3.scope"; "": none
  std::string from;  // "cgroup", "environment"
};
// Of /proc/PID/cgroup, which the kernel and who started the job wrote.
Job job_of_cgroup(std::string_view cgroup);
// Of a variable of the process, as far as it is one that names a job (SLURM_JOB_ID, PBS_JOBID,
// ...).
bool names_job(std::string_view variable);
Job job_of_variables(const std::vector<std::pair<std::string, std::string>>& variables);

}  // namespace hwprof
