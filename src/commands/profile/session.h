// What every workload of `hwprof profile`, and `hwprof sweep`, stands on: the place, the threads,
// the BLAS and its verdict, the machine's ceilings, and the rows that are measured on them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "counters/machine/affinity.h"
#include "counters/perf/counting.h"
#include "kernels/thread_team.h"
#include "src/base/result.h"
#include "src/commands/loaded_blas.h"
#include "src/commands/profile/measure_options.h"
#include "src/measure/ceilings.h"
#include "src/measure/exact_functions.h"
#include "src/measure/schedule.h"
#include "src/model/record.h"
#include "src/observe/proc/cpu_users.h"
#include "src/workloads/task.h"

namespace hwprof {

// Seconds that the measurement of the work itself gets at least, whatever came before it.
inline constexpr double kLeastRunSeconds = 1;

// Where the bar stands when the results are checked, and when all is measured.
inline constexpr double kCheckedProgress = 0.1, kMeasuredProgress = 0.95;

// How tasks are measured, where it is not as the machine and the budget say.
struct TaskOptions {
  std::size_t checked_documents = 0;         // that each task's check() looks at
  double budget_share = 1;                   // of the time that is left
  std::optional<std::uint64_t> loops = {};   // calls a slice; absent: as many as fill it
  std::optional<std::size_t> repeat = {};    // slices; absent: as many as the budget has room for
  const BlasLibrary* own_library = nullptr;  // of the tasks that name one of their own
};

// Tasks on one number of threads, checked, and what was measured of them so far.
struct TaskTurns {
  std::span<const Task> tasks;
  std::size_t checked_documents = 0;
  bool repeated = false;  // calls or slices as the user says
  double share = 1;       // of the budget that was left, `before_s` in
  double before_s = 0;
  double progress_until = kMeasuredProgress;            // where the bar stands when all is measured
  std::vector<std::optional<std::size_t>> measured;     // as which work; absent: it cannot run
  std::vector<Work> work;                               // their addresses stay
  std::vector<double> errors;                           // largest relative ones, by work
  std::vector<std::optional<report::ExactWork>> exact;  // by task; absent: not asked for
  std::unique_ptr<Counting> counting;
  std::unique_ptr<CpuUsers> users;
  std::optional<Interleaving> measuring;
  // By task: the median time of a call in each turn, absent where it had none.
  std::vector<std::vector<std::optional<double>>> turns_ns;
};

// One line on standard error that says how far a measurement is; only where a person looks at it.
class Progress {
 public:
  // Silent unless standard error is a terminal and `wanted`.
  explicit Progress(bool wanted);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void clear();
  // A line that stays: what is known so far.
  void tell(const std::string& text);
  [[nodiscard]] bool active() const { return active_; }
  // `share` of a step that ends at `until` of the whole and begins where the one before ended. The
  // bar never runs back. Redraws at most ten times a second.
  void show(const std::string& step, double share, double until);

 private:
  bool active_;
  bool drawn_ = false;
  std::string step_;
  double from_ = 0, until_ = 0, shown_ = 0;
  std::chrono::steady_clock::time_point last_;
};

class ProfileSession {
 public:
  // Checks what the user can get wrong, pins the process, probes the machine.
  static Result<ProfileSession> begin(const MeasureOptions& options);

  // Once the input is there: loads the BLAS, starts the threads, measures the ceilings and judges
  // the BLAS. Last of all caps the hand-written kernels: the ceilings are the machine's, whatever
  // the kernels may use of it.
  Result<void> set_up();

  // From now on that many: the team, the BLAS, the ceilings. Those of before stay, for another
  // turn.
  Result<void> set_threads(int threads);

  // Checks every task against double precision, then times and counts them, interleaved with the
  // peak: a row of the record each, in the order given.
  Result<void> measure(std::span<const Task> tasks, const TaskOptions& how);

  // The same in three steps, for tasks that take turns: on the number of threads that is set. The
  // tasks stay where they are. `others`: measurements that share the budget with this one.
  Result<TaskTurns> begin_turns(std::span<const Task> tasks, const TaskOptions& how,
                                std::size_t others = 0);
  void take_turn(TaskTurns& turns, double until_share);
  void add_rows(TaskTurns turns);

  [[nodiscard]] double seconds() const;       // since begin()
  [[nodiscard]] double seconds_left() const;  // of the time budget, at least kLeastRunSeconds

  // Of a task that was run before: what one more call executes, on one thread that does the work
  // of all. `library`: whose products it calls, whose threads are then as they were.
  report::ExactWork count_exactly(const Task& task, const BlasLibrary* library);

  [[nodiscard]] const BlasLibrary* library() const {
    return blas.library ? &*blas.library : nullptr;
  }
  // Whose products a task calls, in words; "" none.
  [[nodiscard]] std::string library_of(const Task& task) const;
  [[nodiscard]] ThreadTeam& team() { return *crew_->team; }
  // More threads than CPUs add nothing to what the machine can do.
  [[nodiscard]] ThreadTeam& peak_team() {
    return crew_->one_a_cpu ? *crew_->one_a_cpu : *crew_->team;
  }

  MeasureOptions options;
  report::Profile record;
  CpuList cpus;
  std::vector<std::string> events;
  LoadedBlas blas;
  std::unique_ptr<Progress> progress;

 private:
  ProfileSession() = default;

  // The verdict and one kernel, on the terminal, while the rest is still to be measured.
  void tell_first_result(std::span<const Task> tasks);
  void note_clock_steps(std::uint64_t pieces);
  void note_load(const ScheduleResult& result, const CpuUsers& users);

  // What belongs to one number of threads.
  struct Crew {
    int blas_threads = 1;
    std::unique_ptr<ThreadTeam> team, one_a_cpu;
    std::optional<report::Peak> peak;
  };

  // On which a task computes.
  [[nodiscard]] int threads_of(const Task& task) const {
    return task.needs_blas ? blas.threads : record.threads;
  }
  // As many as the record says: those of the BLAS, and the team.
  Result<void> start_threads();
  void go_on_with(Crew& crew);

  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool told_ = false;
  SymbolOf symbol_of_ = symbols_of_files();  // of hwprof and what it loaded
  std::map<int, Crew> crews_;                // by number of threads
  Crew* crew_ = nullptr;                     // that of the record
};

}  // namespace hwprof
