// What /proc says of other processes: whose they are, what they descend from, what they took.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hwprof {

// Fields of /proc/PID/stat behind the name, which may hold blanks and parentheses itself: number 3
// of proc_pid_stat(5) is the first.
std::vector<std::string_view> stat_fields(std::string_view text);
inline constexpr std::uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD in field 9
double ticks_a_second();                                    // of its times

// Of the text of /proc/PID/status; absent where it does not tell.
std::optional<uid_t> effective_user(std::string_view status);

// Whether it has ended, or was never there. One that was killed may wait long for whoever inherited
// it to take its exit code: it has. Nothing of /proc is read, since the number may be another
// user's by now, who can let that wait (pidfd_open: Linux 5.3; before, none has ended).
bool has_ended(pid_t pid);

struct ProcessInfo {
  std::string name;  // as `ps -o comm`
  pid_t parent = 0;
  pid_t process = 0;        // whose thread this number means; its own where it is a process
  uid_t user = 0;           // effective
  bool ended = false;       // with all its threads;
  bool main_ended = false;  // the first of them: others may go on
  bool kernel_thread = false;
  std::uint64_t start_ticks = 0;    // after boot: with the pid, it names one process for ever
  double user_s = 0, system_s = 0;  // with the children that it waited for
};
// Absent: there is no such process (any more).
std::optional<ProcessInfo> process_info(pid_t pid);
// Its argv, of which a process may make what it likes: at most 128 KiB (as the kernel's own limit
// for one argument). Empty for a kernel thread or a zombie.
std::vector<std::string> command_of(pid_t pid);

// VmHWM: the most memory that it had at once since it began to run its present program.
std::optional<std::uint64_t> peak_rss_bytes(pid_t pid);

// How long its first thread was ready to run while no CPU was free for it; also of a process that
// has ended and is not yet waited for. Absent where the kernel keeps no such statistics.
std::optional<double> waited_for_cpu_s(pid_t pid);

std::vector<pid_t> threads_of(pid_t pid);
std::vector<pid_t> children_of(pid_t pid);  // of all its threads
// `pid` first, then what descends from it; of a tree that grows on, the first 65,536.
std::vector<pid_t> process_tree(pid_t pid);

}  // namespace hwprof
