// What every workload of `hwprof profile` stands on: the place, the threads, the BLAS and its
// verdict, the machine's ceilings, and the report at the end.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "counters/machine/affinity.h"
#include "kernels/thread_team.h"
#include "src/base/result.h"
#include "src/commands/profile_blas.h"
#include "src/commands/profile_options.h"
#include "src/commands/progress.h"
#include "src/measure/ceilings.h"
#include "src/measure/roofline.h"
#include "src/model/record.h"
#include "src/workloads/task.h"

namespace hwprof {

// Seconds that the measurement of the work itself gets at least, whatever came before it.
inline constexpr double kLeastRunSeconds = 1;

class ProfileSession {
 public:
  // Checks what the user can get wrong, pins the process, probes the machine.
  static Result<ProfileSession> begin(const ProfileOptions& options);

  // Once the input is there: loads the BLAS, starts the threads, measures the ceilings and judges
  // the BLAS. Last of all caps the hand-written kernels: the ceilings are the machine's, whatever
  // the kernels may use of it.
  Result<void> set_up(const ProfileOptions& options);

  // For another number of threads than set_up() began with: the team, the BLAS, the ceilings.
  Result<void> set_threads(const ProfileOptions& options, int threads);

  // Checks every task against double precision, then times and counts them, interleaved with the
  // peak: a row of the record each, in the order given. Takes that share of the time that is left.
  Result<void> measure(const ProfileOptions& options, std::span<const Task> tasks,
                       std::size_t checked_documents, double budget_share = 1);

  // Writes the report; the exit code.
  Result<int> finish(const ProfileOptions& options);

  // The peak of the rows: what the slices beside the work gave.
  [[nodiscard]] Ceilings settle_ceilings(const std::vector<double>& peak_slices);
  [[nodiscard]] Ceilings ceilings() const;  // as settled

  [[nodiscard]] double seconds() const;       // since begin()
  [[nodiscard]] double seconds_left() const;  // of the time budget, at least kLeastRunSeconds

  [[nodiscard]] const BlasLibrary* library() const {
    return blas.library ? &*blas.library : nullptr;
  }
  [[nodiscard]] ThreadTeam& team() { return *team_; }
  // More threads than CPUs add nothing to what the machine can do.
  [[nodiscard]] ThreadTeam& peak_team() { return one_a_cpu_ ? *one_a_cpu_ : *team_; }

  report::Profile record;
  CpuList cpus;
  std::vector<std::string> events;
  LoadedBlas blas;
  std::unique_ptr<Progress> progress;

 private:
  ProfileSession() = default;

  // As many as the record says: those of the BLAS, and the team.
  Result<void> start_threads(const ProfileOptions& options);

  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double time_budget_s_ = 0;
  std::size_t measurements_left_ = 1;  // calls of measure() that share what is left of it
  std::unique_ptr<ThreadTeam> team_, one_a_cpu_;
};

}  // namespace hwprof
