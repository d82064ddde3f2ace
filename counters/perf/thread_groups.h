// The open groups of every thread of this process, started and stopped together. A BLAS's worker
// threads exist before main, so counting the caller alone would miss most of the work. Internal to
// counters/.
#pragma once

#include <sys/types.h>

#include <span>
#include <vector>

#include "counters/perf/group.h"
#include "counters/perf/plan.h"

namespace hwprof {

// Of this process, the caller last: its own counters then start after, and stop before, the system
// calls that serve the others.
std::vector<pid_t> process_threads();

class ThreadGroups {
 public:
  // Threads that end meanwhile are left out. Fails with the errno of the first group that cannot
  // be opened.
  static Result<ThreadGroups> open(std::vector<NativeEvent> natives, std::vector<PassPlan> passes,
                                   bool user_only);

  Result<void> start(std::size_t pass);
  // Adds what was counted since start() to `sums`, one a group of the pass.
  Result<void> stop(std::size_t pass, std::vector<RawReading>& sums);
  Result<void> refresh();

  [[nodiscard]] std::size_t passes() const { return passes_.size(); }
  [[nodiscard]] std::size_t threads() const { return threads_.size(); }

 private:
  struct OpenGroup {
    Group group;
    RawReading last;  // when it was last disabled: the start of the next stretch
  };
  struct Thread {
    pid_t id = 0;
    std::vector<std::vector<OpenGroup>> passes;
  };
  Result<Thread> open_thread(pid_t id) const;

  std::vector<NativeEvent> natives_;
  std::vector<PassPlan> passes_;
  bool user_only_ = false;
  bool inherit_ = false;  // threads that a counted thread starts are counted with it
  std::vector<Thread> threads_;
  RawReading scratch_;
};

}  // namespace hwprof
