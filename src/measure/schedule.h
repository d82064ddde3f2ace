// The scheduler: times and counts several pieces of work side by side, in slices interleaved with
// slices of the FMA peak: peak, A, peak, B, peak, ... A core's clock drifts by 10 % within a minute
// on shared machines; a ratio of neighbouring slices does not see that, a quotient of two numbers
// taken at different times does. What is measured next, when it is enough and how far the whole has
// come is decided here, for profile, layers, sweep and bench alike.
//
// measure: how fast something is, how sure that is, and what it is held against: schedule, peak,
// bandwidth, roofline, statistics, laws of growth, comparison. It runs work that it is given and
// fills records; which work that is, what a report says of it and how it looks are not its
// business.
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
#include "src/model/row.h"

namespace hwprof {

// Run and timed on its own.
struct Part {
  std::function<void()> run;  // one call
  double flops = 0;           // of one call, by the model
};

// One part is called many times a slice, in chunks. Several parts, the layers of a network, are run
// one after the other, in calls with the clock read between them, and beside each of those one
// without: only so it can be said that the parts add up to the whole.
struct Work {
  std::vector<Part> parts;
  bool by_part = false;  // time each of them
  // How long a call took before, if it was called: work that is slow is then not warmed up again.
  double first_call_ns = 0;
};

struct ScheduleOptions {
  double budget_s = 8;     // for all work together; a last slice may overrun it
  double slice_s = 0.020;  // a slice is at least one call
  double peak_slice_s = 0.005;
  double target_half_width = 0.02;   // of the interval of the median
  std::size_t min_samples = 15;      // slices; of work in parts, calls: kMinSamplesForInterval
  std::size_t min_samples_slow = 6;  // where one call is longer than a slice
  // Fixed by the user: calls a slice, then timed as one; samples, then neither the width of the
  // interval nor the budget ends the measurement.
  std::optional<std::uint64_t> loops = std::nullopt;
  std::optional<std::size_t> repeat = std::nullopt;
};

// No order statistic brackets the median with 95 % below six samples: 2 (1/2)^5 > 0.05.
inline constexpr std::size_t kMinSamplesForInterval = 6;

struct Measurement {
  // A sample each. Of work with one part it is a slice, whose time is the median over its chunks;
  // of work in parts it is a call, and nobody looked what else happened in it.
  std::vector<report::Slice> slices;
  std::vector<double> peak_ratio;  // one a sample: GFLOP/s over the mean of the peaks around it
  double min_ns = 0;               // fastest chunk, a call
  double total_ns = 0;             // of all timed calls
  std::uint64_t calls_a_slice = 0;
  std::uint64_t calls = 0;       // timed
  std::uint64_t migrations = 0;  // slices after which the caller was on another CPU than before
  Tally tally;                   // counts of the same calls

  [[nodiscard]] std::vector<double> call_ns() const;  // of the slices
};

struct WorkTimes {
  Measurement whole;
  std::vector<Measurement> parts;  // empty: there is one
  std::vector<double> sum_ns;      // of the parts, of each call with the clock read between them
};

struct ScheduleResult {
  std::vector<WorkTimes> work;      // in the order given; no samples where it was cut short
  std::vector<double> peak_gflops;  // every peak slice, all threads together
  bool interrupted = false;
  // Times a second that the calling thread had to yield its CPU to somebody else.
  double involuntary_switches_per_s = 0;
};

// Rate of the FMA kernel on all threads of the team at once.
double team_peak_gflops(ThreadTeam& team, const FmaKernel& kernel, double seconds);

// Of one reading of the clock, which is in every part's time.
double clock_reading_ns();

// `team` runs the peak only. `counting` may be null; work in parts is not counted. `stop` is looked
// at between slices. `progress` gets a fraction in [0, 1].
ScheduleResult run_interleaved(std::span<const Work> work, ThreadTeam& team, Counting* counting,
                               const ScheduleOptions& options, const std::atomic<bool>& stop,
                               const std::function<void(double)>& progress);

// Counts of each part by itself: counting is started and stopped around it, in calls of their own,
// since that costs more than a small layer takes. What counting nothing at all counts stands beside
// it.
struct PartCounts {
  std::vector<std::vector<Tally>> work;  // a tally a part
  Tally nothing;                         // between start and stop: nothing
};

// As many calls of each work, interleaved, as fit in `budget_s`, at least one a pass.
PartCounts count_parts(std::span<const Work> work, Counting& counting, double budget_s,
                       const std::atomic<bool>& stop);

}  // namespace hwprof
