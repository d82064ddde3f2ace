// What a command leaves behind: processes that go on when it ends, daemons and background jobs.
//
// While it runs, hwprof is the one to whom the kernel gives the command's orphans
// (PR_SET_CHILD_SUBREAPER), as `systemd --user` does. Only so are they known for certain, and their
// CPU time is not lost; the price is that an orphan's parent is hwprof and not process 1.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace hwprof {

class Orphans {
 public:
  // Children that this process has already are none of ours.
  Orphans();
  Orphans(const Orphans&) = delete;
  Orphans& operator=(const Orphans&) = delete;
  ~Orphans();  // who still runs goes on, and gets the next parent up

  // Takes the exit codes of those that have ended, except of `command`.
  void reap(pid_t command);
  [[nodiscard]] double user_s() const { return user_s_; }
  [[nodiscard]] double system_s() const { return system_s_; }

  struct Left {
    pid_t pid = 0;
    std::string name;
  };
  // Those that run now, with what descends from them.
  [[nodiscard]] std::vector<Left> running(pid_t command) const;

 private:
  [[nodiscard]] std::vector<pid_t> adopted(pid_t command) const;

  std::set<pid_t> before_;
  double user_s_ = 0, system_s_ = 0;
};

}  // namespace hwprof
