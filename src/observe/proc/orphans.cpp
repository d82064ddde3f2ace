#include "src/observe/proc/orphans.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/observe/proc/processes.h"

namespace hwprof {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

Orphans::Orphans() {
  const std::vector<pid_t> before = children_of(::getpid());
  before_.insert(before.begin(), before.end());
  ::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);  // Linux 3.4; cannot fail
}

Orphans::~Orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 0UL, 0UL, 0UL, 0UL); }

std::vector<pid_t> Orphans::adopted(pid_t command) const {
  std::vector<pid_t> pids;
  for (const pid_t child : children_of(::getpid()))
    if (child != command && !before_.contains(child)) pids.push_back(child);
  return pids;
}

void Orphans::reap(pid_t command) {
  for (const pid_t child : adopted(command)) {
    rusage usage{};
    if (::wait4(child, nullptr, WNOHANG, &usage) != child) continue;
    user_s_ += seconds(usage.ru_utime);
    system_s_ += seconds(usage.ru_stime);
  }
}

std::vector<Orphans::Left> Orphans::running(pid_t command) const {
  std::vector<Left> left;
  for (const pid_t child : adopted(command)) {
    for (const pid_t pid : process_tree(child)) {
      const auto info = process_info(pid);
      if (info && info->state != 'Z' && info->state != 'X') left.push_back({pid, info->name});
    }
  }
  return left;
}

}  // namespace hwprof
