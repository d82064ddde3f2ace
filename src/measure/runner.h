// Times and counts several pieces of work side by side, in slices that take turns with slices of
// the FMA peak: peak, A, peak, B, peak, ... A core's clock drifts by 10 % within a minute on
// shared machines; a ratio of neighbouring slices does not see that, a quotient of two numbers
// taken at different times does.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "counters/perf/counting.h"
#include "kernels/thread_team.h"
#include "src/measure/peak.h"

namespace hwprof {

struct Work {
  std::function<void()> run;  // one call
  double flops = 0;           // of one call, by the model
  // How long a call took before, if it was called: work that is slow is then not warmed up again.
  double first_call_ns = 0;
};

struct RunnerOptions {
  double budget_s = 8;     // for all work together; a last slice may overrun it
  double slice_s = 0.020;  // a slice is at least one call
  double peak_slice_s = 0.005;
  double target_half_width = 0.02;   // of the interval of the median
  std::size_t min_samples = 15;      // slices
  std::size_t min_samples_slow = 6;  // where one call is longer than a slice
  // Fixed by the user: calls a slice, then timed as one; slices, then neither the width of the
  // interval nor the budget ends the measurement.
  std::optional<std::uint64_t> loops = std::nullopt;
  std::optional<std::size_t> repeat = std::nullopt;
};

// No order statistic brackets the median with 95 % below six samples: 2 (1/2)^5 > 0.05.
inline constexpr std::size_t kMinSamplesForInterval = 6;

// What else happened in a slice.
struct SliceConditions {
  double peak_gflops = 0;  // mean of the peaks around it
  bool migrated = false;   // the caller was on another CPU after it than before
  // Of the whole process: a thread of the team that waits delays the others.
  std::uint64_t involuntary_switches = 0, page_faults = 0;
};

struct Measurement {
  std::vector<double> call_ns;     // one a slice: the median over its chunks, a call
  std::vector<double> peak_ratio;  // one a slice: GFLOP/s over the mean of the peaks around it
  std::vector<SliceConditions> conditions;  // one a slice
  double min_ns = 0;                        // fastest chunk, a call
  double total_ns = 0;                      // of all timed calls
  std::uint64_t calls_a_slice = 0;
  std::uint64_t calls = 0;       // timed
  std::uint64_t migrations = 0;  // slices after which the caller was on another CPU than before
  Tally tally;                   // counts of the same calls
};

struct RunResult {
  std::vector<Measurement> work;    // in the order given; no samples where it was cut short
  std::vector<double> peak_gflops;  // every peak slice, all threads together
  bool interrupted = false;
  // Times a second that the calling thread had to yield its CPU to somebody else.
  double involuntary_switches_per_s = 0;
};

// Rate of the FMA kernel on all threads of the team at once.
double team_peak_gflops(ThreadTeam& team, const FmaKernel& kernel, double seconds);

// `team` runs the peak only. `counting` may be null. `stop` is looked at between slices. `progress`
// gets a fraction in [0, 1].
RunResult run_interleaved(std::span<const Work> work, ThreadTeam& team, Counting* counting,
                          const RunnerOptions& options, const std::atomic<bool>& stop,
                          const std::function<void(double)>& progress);

}  // namespace hwprof
