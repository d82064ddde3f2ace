// What every workload of `hwprof profile`, and `hwprof sweep`, stands on: the place, the threads,
// the BLAS and its verdict, the machine's ceilings, and the rows that are measured on them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "counters/machine/affinity.h"
#include "kernels/thread_team.h"
#include "src/base/result.h"
#include "src/commands/loaded_blas.h"
#include "src/commands/profile/measure_options.h"
#include "src/measure/ceilings.h"
#include "src/measure/schedule.h"
#include "src/model/record.h"
#include "src/observe/proc/cpu_users.h"
#include "src/workloads/task.h"

namespace hwprof {

// Seconds that the measurement of the work itself gets at least, whatever came before it.
inline constexpr double kLeastRunSeconds = 1;

// How tasks are measured, where it is not as the machine and the budget say.
struct TaskOptions {
  std::size_t checked_documents = 0;        // that each task's check() looks at
  double budget_share = 1;                  // of the time that is left
  std::optional<std::uint64_t> loops = {};  // calls a slice; absent: as many as fill it
  std::optional<std::size_t> repeat = {};   // slices; absent: as many as the budget has room for
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
  // Redraws at most ten times a second.
  void show(const std::string& step, double fraction);

 private:
  bool active_;
  bool drawn_ = false;
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

  // For another number of threads than set_up() began with: the team, the BLAS, the ceilings.
  Result<void> set_threads(int threads);

  // Checks every task against double precision, then times and counts them, interleaved with the
  // peak: a row of the record each, in the order given.
  Result<void> measure(std::span<const Task> tasks, const TaskOptions& how);

  [[nodiscard]] double seconds() const;       // since begin()
  [[nodiscard]] double seconds_left() const;  // of the time budget, at least kLeastRunSeconds

  [[nodiscard]] const BlasLibrary* library() const {
    return blas.library ? &*blas.library : nullptr;
  }
  // Whose products a task calls, in words; "" none.
  [[nodiscard]] std::string library_of(const Task& task) const;
  [[nodiscard]] ThreadTeam& team() { return *team_; }
  // More threads than CPUs add nothing to what the machine can do.
  [[nodiscard]] ThreadTeam& peak_team() { return one_a_cpu_ ? *one_a_cpu_ : *team_; }

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

  // On which a task computes.
  [[nodiscard]] int threads_of(const Task& task) const {
    return task.needs_blas ? blas.threads : record.threads;
  }
  // As many as the record says: those of the BLAS, and the team.
  Result<void> start_threads();

  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool told_ = false;
  std::size_t measurements_left_ = 1;  // calls of measure() that share what is left of it
  std::unique_ptr<ThreadTeam> team_, one_a_cpu_;
};

}  // namespace hwprof
