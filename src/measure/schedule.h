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
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "counters/machine/affinity.h"
#include "counters/perf/counting.h"
#include "kernels/thread_team.h"
#include "src/measure/measurement.h"
#include "src/measure/peak.h"

namespace hwprof {

// Run and timed on its own.
struct Part {
  std::function<void()> run = {};  // one call
  double flops = 0;                // of one call, by the model
  // Instead of `run`, what times itself, in another process: works for about so many seconds, and
  // says the nanoseconds of a call. Absent: it has gone, which ends the measurement.
  std::function<std::optional<double>(double seconds)> slice_ns = {};
};

// One part is called many times a slice. Several parts, the layers of a network, are run one after
// the other, in calls with the clock read between them, and beside each of those one without: only
// so it can be said that the parts add up to the whole.
struct Work {
  std::vector<Part> parts;
  bool by_part = false;  // time each of them
  // It runs on one: then its time is the CPU time of the calling thread, which other programs on
  // that CPU do not lengthen. Threads wait for each other, a BLAS's own by spinning, so that their
  // CPU time is no work: of several, wall time counts, in pieces in which none waited for its CPU.
  int threads = 1;
  // How long a call took before, if it was called: work that is slow is then not warmed up again.
  double first_call_ns = 0;
};

struct ScheduleOptions {
  double budget_s = 8;     // for all work together, used up; a last slice may overrun it
  double slice_s = 0.005;  // of work; a slice is at least one call
  double longest_peak_s = 0.005;
  CpuList cpus = {};  // where the work runs: what the host takes from them is watched
  // Fixed by the user: calls a slice, then timed as one; slices, all of which are then kept, and
  // the budget does not end the measurement.
  std::optional<std::uint64_t> loops = std::nullopt;
  std::optional<std::size_t> repeat = std::nullopt;
  // Work that the others are compared with: one of its slices stands on either side of theirs.
  std::optional<std::size_t> baseline = std::nullopt;
  const FmaKernel* peak = nullptr;  // null: the fastest
  Clocks clocks = {};
};

struct ScheduleResult {
  std::vector<WorkTimes> work;      // in the order given; no samples where it was cut short
  std::vector<double> peak_gflops;  // every peak piece, all threads together
  bool interrupted = false;
  std::uint64_t clock_steps = 0;  // pieces that are not there, since a clock stepped back in them
  // Times a second that the calling thread had to yield its CPU to somebody else.
  double involuntary_switches_per_s = 0;
};

// A measurement that can be left and gone on with, so that two that exclude each other (the same
// work on one thread and on two) can take turns.
class Interleaving {
 public:
  // `team` runs the peak only. `counting` may be null; work in parts is not counted. `work` and
  // both stay where they are.
  Interleaving(std::span<const Work> work, ThreadTeam& team, Counting* counting,
               ScheduleOptions options);
  ~Interleaving();
  Interleaving(Interleaving&&) noexcept;
  Interleaving& operator=(Interleaving&&) noexcept;

  // Goes on until this share of the budget, or of the slices to repeat, is done: 1 is all of it.
  // `stop` is looked at between slices. `progress` gets the share done.
  void run_until(double share, const std::atomic<bool>& stop,
                 const std::function<void(double)>& progress);
  // Of the budget, or of the slices to repeat.
  [[nodiscard]] double share_done() const;
  // Until now: nothing is left out yet.
  [[nodiscard]] const ScheduleResult& so_far() const;
  ScheduleResult result() &&;

 private:
  class Schedule;
  std::unique_ptr<Schedule> schedule_;
};

// All of it at once.
ScheduleResult run_interleaved(std::span<const Work> work, ThreadTeam& team, Counting* counting,
                               const ScheduleOptions& options, const std::atomic<bool>& stop,
                               const std::function<void(double)>& progress);

}  // namespace hwprof
