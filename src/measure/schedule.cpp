#include "src/measure/schedule.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "counters/machine/affinity.h"
#include "src/measure/statistics.h"

namespace hwprof {
namespace {

using Clock = std::chrono::steady_clock;

double ns_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::nano>(end - begin).count();
}

double ns_since(Clock::time_point begin) { return ns_between(begin, Clock::now()); }

// Calls between two looks at the clock, and such chunks in a slice. A chunk of 50 us makes the
// clock's own 30 ns invisible; the median over chunks is not hurt by a stolen time slice.
struct SlicePlan {
  std::uint64_t calls_per_chunk = 1, chunks = 1;
  bool slow = false;  // one call is longer than a slice
};

SlicePlan plan_slice(double call_ns, double slice_s) {
  constexpr double kChunkNs = 50e3;
  SlicePlan plan;
  plan.calls_per_chunk = static_cast<std::uint64_t>(std::max(1.0, std::ceil(kChunkNs / call_ns)));
  const double chunk_ns = call_ns * static_cast<double>(plan.calls_per_chunk);
  plan.chunks = static_cast<std::uint64_t>(std::max(1.0, std::round(slice_s * 1e9 / chunk_ns)));
  plan.slow = call_ns > slice_s * 1e9;
  return plan;
}

rusage usage_of(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  return usage;
}

long involuntary_switches() { return usage_of(RUSAGE_THREAD).ru_nivcsw; }

void add_call(Measurement& measured, double ns) {
  measured.min_ns = measured.calls == 0 ? ns : std::min(measured.min_ns, ns);
  measured.total_ns += ns;
  ++measured.calls;
  measured.slices.emplace_back().ns = ns;
}

// Of the samples from `first` on.
void add_peak_ratios(Measurement& measured, std::size_t first, double flops, double peak_gflops) {
  if (flops == 0) return;
  for (std::size_t i = first; i < measured.slices.size(); ++i) {
    measured.peak_ratio.push_back(flops / measured.slices[i].ns / peak_gflops);
  }
}

class Schedule {
 public:
  Schedule(std::span<const Work> work, ThreadTeam& team, Counting* counting,
           const ScheduleOptions& options)
      : work_(work), team_(team), counting_(counting), options_(options), states_(work.size()) {
    result_.work.resize(work.size());
    for (std::size_t i = 0; i < work.size(); ++i) {
      if (in_parts(i)) result_.work[i].parts.resize(work[i].parts.size());
    }
  }

  ScheduleResult run(const std::atomic<bool>& stop, const std::function<void(double)>& progress) {
    warm_up(stop);
    const long switches_before = involuntary_switches();
    const auto measuring_since = Clock::now();
    if (counting_ != nullptr && counting_->refresh_threads()) counted_ = counting_->passes() > 0;
    double peak_before = measure_peak();
    while (!stop.load(std::memory_order_relaxed)) {
      const std::size_t next = pick();
      if (next == work_.size()) break;
      const std::size_t first = samples(next);
      run_slice(next);
      const double peak_after = measure_peak();
      note_peak(next, first, (peak_before + peak_after) / 2);
      peak_before = peak_after;
      update_convergence(next);
      progress(fraction_done());
    }
    result_.interrupted = stop.load(std::memory_order_relaxed);
    result_.involuntary_switches_per_s =
        static_cast<double>(involuntary_switches() - switches_before) /
        (ns_since(measuring_since) * 1e-9);
    return std::move(result_);
  }

 private:
  struct State {
    SlicePlan plan;
    double spent_ns = 0;
    double last_ns = 0;                // end of the last slice, since the run began
    std::size_t must = 1, enough = 0;  // samples: whatever the budget, and to be converged
    std::size_t next_look = 0;         // at convergence: each costs a millisecond and more
    bool converged = false;
    std::vector<Clock::time_point> boundaries;  // of parts
  };

  [[nodiscard]] bool in_parts(std::size_t i) const { return work_[i].by_part; }
  [[nodiscard]] std::size_t samples(std::size_t i) const {
    return result_.work[i].whole.slices.size();
  }

  // The first call faults pages in and wakes threads: it says how long a slice has to be, no more.
  void warm_up(const std::atomic<bool>& stop) {
    for (std::size_t i = 0; i < work_.size() && !stop.load(std::memory_order_relaxed); ++i) {
      State& state = states_[i];
      if (in_parts(i)) {
        state.must = state.enough = kMinSamplesForInterval;
        state.boundaries.resize(work_[i].parts.size() + 1);
        continue;
      }
      const std::function<void()>& run = work_[i].parts.front().run;
      double call_ns = work_[i].first_call_ns;
      if (call_ns == 0) {
        const auto begin = Clock::now();
        run();
        call_ns = ns_since(begin);
      }
      if (call_ns < options_.slice_s * 1e9 / 4) {
        const auto again = Clock::now();
        run();
        call_ns = ns_since(again);
      }
      state.plan = plan_slice(std::max(call_ns, 1.0), options_.slice_s);
      if (options_.loops) {
        state.plan.calls_per_chunk = *options_.loops;
        state.plan.chunks = 1;
      }
      result_.work[i].whole.calls_a_slice = state.plan.calls_per_chunk * state.plan.chunks;
      state.enough = std::max(state.plan.slow ? options_.min_samples_slow : options_.min_samples,
                              counting_ == nullptr ? std::size_t{0} : counting_->passes());
      state.spent_ns = state.plan.slow ? call_ns : 0;
    }
  }

  [[nodiscard]] bool wanted(std::size_t i, bool over) const {
    if (options_.repeat) return samples(i) < *options_.repeat;
    return samples(i) < states_[i].must || (!over && !states_[i].converged);
  }

  // Least time spent first: fast work advances in step, slow work gets an equal share of time.
  // Past the budget only work without the samples that it must have is still picked. While other
  // work goes on, what has enough is looked at again now and then: on a shared machine a core is
  // slower for seconds, and slices in a row would see one mood of it and call it certain.
  [[nodiscard]] std::size_t pick() const {
    constexpr double kAgainNs = 0.25e9;
    const double now = ns_since(begin_);
    const bool over = !options_.repeat && now > options_.budget_s * 1e9;
    std::size_t best = work_.size(), stale = work_.size();
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < work_.size(); ++i) {
      const State& state = states_[i];
      const bool is_wanted = wanted(i, over);
      if (is_wanted && state.spent_ns < least) {
        best = i;
        least = state.spent_ns;
      }
      if (!over && !options_.repeat && !is_wanted && now - state.last_ns > kAgainNs) stale = i;
    }
    return best == work_.size() || stale == work_.size() ? best : stale;
  }

  void run_slice(std::size_t index) {
    State& state = states_[index];
    state.spent_ns += in_parts(index) ? slice_in_parts(index) : slice_of_calls(index);
    state.last_ns = ns_since(begin_);
  }

  // Returns the nanoseconds of the slice, as the next does.
  double slice_of_calls(std::size_t index) {
    Measurement& measured = result_.work[index].whole;
    const std::function<void()>& run = work_[index].parts.front().run;
    const SlicePlan& plan = states_[index].plan;
    const std::size_t pass = counted_ ? measured.slices.size() % counting_->passes() : 0;
    std::vector<double> chunk_ns(plan.chunks);
    const unsigned cpu = current_cpu();
    const rusage usage = usage_of(RUSAGE_SELF);
    const bool counting = counted_ && counting_->start(pass).has_value();
    const auto begin = Clock::now();
    auto before = begin;
    for (double& ns : chunk_ns) {
      for (std::uint64_t call = 0; call < plan.calls_per_chunk; ++call) run();
      const auto after = Clock::now();
      ns = ns_between(before, after) / static_cast<double>(plan.calls_per_chunk);
      before = after;
    }
    const double slice_ns = ns_between(begin, before);
    const auto calls = plan.calls_per_chunk * plan.chunks;
    // A window that cannot be read back adds nothing to the tally: the event then has no value.
    if (counting) (void)counting_->stop(pass, measured.tally, static_cast<double>(calls));
    const bool migrated = current_cpu() != cpu;
    const rusage used = usage_of(RUSAGE_SELF);
    measured.migrations += migrated ? 1 : 0;

    const double fastest = *std::min_element(chunk_ns.begin(), chunk_ns.end());
    measured.min_ns = measured.calls == 0 ? fastest : std::min(measured.min_ns, fastest);
    measured.calls += calls;
    measured.total_ns += slice_ns;
    report::Slice& slice = measured.slices.emplace_back();
    slice.ns = median(std::move(chunk_ns));
    slice.migrated = migrated;
    // Of the whole process: a thread of the team that waits delays the others.
    slice.involuntary_switches = static_cast<std::uint64_t>(used.ru_nivcsw - usage.ru_nivcsw);
    slice.page_faults = static_cast<std::uint64_t>(used.ru_minflt - usage.ru_minflt +
                                                   used.ru_majflt - usage.ru_majflt);
    return slice_ns;
  }

  // Calls with and without a clock in between, interleaved, until the slice is over. The first call
  // of a slice is not counted: the peak's slice before it left the caches as it likes.
  double slice_in_parts(std::size_t i) {
    const auto begin = Clock::now();
    call_whole(i);
    if (samples(i) == 0) call_whole(i);
    do {
      call_by_part(i);
      const auto before = Clock::now();
      call_whole(i);
      const double whole_ns = ns_since(before);
      add_call(result_.work[i].whole, whole_ns);
    } while (ns_since(begin) < options_.slice_s * 1e9 &&
             (!options_.repeat || samples(i) < *options_.repeat));
    return ns_since(begin);
  }

  void call_whole(std::size_t i) {
    for (const Part& part : work_[i].parts) part.run();
  }

  void call_by_part(std::size_t i) {
    const std::vector<Part>& parts = work_[i].parts;
    std::vector<Clock::time_point>& at = states_[i].boundaries;
    at[0] = Clock::now();
    for (std::size_t p = 0; p < parts.size(); ++p) {
      parts[p].run();
      at[p + 1] = Clock::now();
    }
    WorkTimes& times = result_.work[i];
    times.sum_ns.push_back(ns_between(at.front(), at.back()));
    for (std::size_t p = 0; p < parts.size(); ++p) {
      add_call(times.parts[p], ns_between(at[p], at[p + 1]));
    }
  }

  double measure_peak() {
    result_.peak_gflops.push_back(
        team_peak_gflops(team_, fastest_fma_kernel(), options_.peak_slice_s));
    return result_.peak_gflops.back();
  }

  // `peak_gflops`: mean of the peaks around the slice, whose samples begin with `first`.
  void note_peak(std::size_t index, std::size_t first, double peak_gflops) {
    const std::vector<Part>& parts = work_[index].parts;
    WorkTimes& times = result_.work[index];
    if (in_parts(index)) {
      for (std::size_t p = 0; p < parts.size(); ++p) {
        add_peak_ratios(times.parts[p], first, parts[p].flops, peak_gflops);
      }
      return;
    }
    times.whole.slices.back().peak_gflops = peak_gflops;
    add_peak_ratios(times.whole, first, parts.front().flops, peak_gflops);
  }

  // Resampling thousands of calls of many parts would take longer than measuring them.
  void update_convergence(std::size_t index) {
    constexpr std::size_t kLookEvery = 5;
    State& state = states_[index];
    const WorkTimes& times = result_.work[index];
    const std::size_t now = samples(index);
    if (options_.repeat) {
      state.converged = now >= *options_.repeat;
      return;
    }
    if (now < std::max(state.enough, state.next_look)) return;
    state.next_look = now + (in_parts(index) ? now : kLookEvery);
    const auto interval = in_parts(index) ? ordered_median : bootstrap_median;
    const auto narrow = [&](const std::vector<double>& values) {
      return values.empty() ||
             relative_half_width(interval(values), median(values)) <= options_.target_half_width;
    };
    state.converged = narrow(times.whole.call_ns()) && narrow(times.whole.peak_ratio) &&
                      std::all_of(times.parts.begin(), times.parts.end(),
                                  [&](const Measurement& part) { return narrow(part.call_ns()); });
  }

  [[nodiscard]] double fraction_done() const {
    const double by_time = options_.repeat ? 0 : ns_since(begin_) / (options_.budget_s * 1e9);
    double by_samples = 0;
    for (std::size_t i = 0; i < work_.size(); ++i) {
      const double share = static_cast<double>(samples(i)) /
                           static_cast<double>(options_.repeat.value_or(states_[i].enough));
      by_samples += (states_[i].converged ? 1.0 : std::min(0.95, share));
    }
    return std::clamp(std::max(by_time, by_samples / static_cast<double>(work_.size())), 0.0, 1.0);
  }

  std::span<const Work> work_;
  ThreadTeam& team_;
  Counting* counting_;
  const ScheduleOptions& options_;
  std::vector<State> states_;
  ScheduleResult result_;
  bool counted_ = false;
  Clock::time_point begin_ = Clock::now();
};

// A window that cannot be started or read back adds nothing: the event then has no value.
template <class F>
void count(Counting& counting, std::size_t pass, Tally& tally, const F& run) {
  const bool counted = counting.start(pass).has_value();
  run();
  if (counted) (void)counting.stop(pass, tally, 1);
}

}  // namespace

std::vector<double> Measurement::call_ns() const {
  std::vector<double> all;
  all.reserve(slices.size());
  for (const report::Slice& slice : slices) all.push_back(slice.ns);
  return all;
}

double team_peak_gflops(ThreadTeam& team, const FmaKernel& kernel, double seconds) {
  std::vector<double> gflops(team.size());
  team.run([&](std::size_t thread) { gflops[thread] = fma_slice_gflops(kernel, seconds); });
  double sum = 0;
  for (const double rate : gflops) sum += rate;
  return sum;
}

double clock_reading_ns() {
  constexpr int kReadings = 1000;
  const auto begin = Clock::now();
  for (int i = 0; i < kReadings; ++i) (void)Clock::now();
  return ns_since(begin) / kReadings;
}

ScheduleResult run_interleaved(std::span<const Work> work, ThreadTeam& team, Counting* counting,
                               const ScheduleOptions& options, const std::atomic<bool>& stop,
                               const std::function<void(double)>& progress) {
  return Schedule(work, team, counting, options).run(stop, progress);
}

PartCounts count_parts(std::span<const Work> work, Counting& counting, double budget_s,
                       const std::atomic<bool>& stop) {
  constexpr std::size_t kMostCalls = 1000;
  PartCounts counts;
  for (const Work& each : work) counts.work.emplace_back(each.parts.size());
  if (counting.passes() == 0 || !counting.refresh_threads()) return counts;
  const auto begin = Clock::now();
  for (std::size_t call = 0; call < kMostCalls && !stop.load(std::memory_order_relaxed); ++call) {
    const std::size_t pass = call % counting.passes();
    const bool over = ns_since(begin) > budget_s * 1e9;
    if (call >= counting.passes() && pass == 0 && over) break;  // each pass equally often
    for (std::size_t i = 0; i < work.size(); ++i) {
      for (std::size_t p = 0; p < work[i].parts.size(); ++p) {
        count(counting, pass, counts.work[i][p], work[i].parts[p].run);
      }
    }
    count(counting, pass, counts.nothing, [] {});
  }
  return counts;
}

}  // namespace hwprof
