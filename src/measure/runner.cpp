#include "src/measure/runner.h"

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

double ns_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

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

SliceConditions conditions_between(const rusage& before, const rusage& after, bool migrated) {
  const auto grown = [](long from, long to) { return static_cast<std::uint64_t>(to - from); };
  return {.peak_gflops = 0,
          .migrated = migrated,
          .involuntary_switches = grown(before.ru_nivcsw, after.ru_nivcsw),
          .page_faults =
              grown(before.ru_minflt, after.ru_minflt) + grown(before.ru_majflt, after.ru_majflt)};
}

class InterleavedRun {
 public:
  InterleavedRun(std::span<const Work> work, ThreadTeam& team, Counting* counting,
                 const RunnerOptions& options)
      : work_(work), team_(team), counting_(counting), options_(options), states_(work.size()) {
    result_.work.resize(work.size());
  }

  RunResult run(const std::atomic<bool>& stop, const std::function<void(double)>& progress) {
    warm_up(stop);
    const long switches_before = involuntary_switches();
    const auto measuring_since = Clock::now();
    if (counting_ != nullptr && counting_->refresh_threads()) counted_ = counting_->passes() > 0;
    double peak_before = measure_peak();
    while (!stop.load(std::memory_order_relaxed)) {
      const std::size_t next = pick();
      if (next == work_.size()) break;
      const double call_ns = run_slice(next);
      const double peak_after = measure_peak();
      const double peak = (peak_before + peak_after) / 2;
      result_.work[next].conditions.back().peak_gflops = peak;
      if (work_[next].flops > 0) {
        result_.work[next].peak_ratio.push_back(work_[next].flops / call_ns / peak);
      }
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
    double last_ns = 0;  // end of the last slice, since the run began
    bool converged = false;
    std::size_t min_samples = 0;
  };

  // The first call faults pages in and wakes threads: it says how long a slice has to be, no more.
  void warm_up(const std::atomic<bool>& stop) {
    for (std::size_t i = 0; i < work_.size() && !stop.load(std::memory_order_relaxed); ++i) {
      double call_ns = work_[i].first_call_ns;
      if (call_ns == 0) {
        const auto begin = Clock::now();
        work_[i].run();
        call_ns = ns_since(begin);
      }
      if (call_ns < options_.slice_s * 1e9 / 4) {
        const auto again = Clock::now();
        work_[i].run();
        call_ns = ns_since(again);
      }
      State& state = states_[i];
      state.plan = plan_slice(std::max(call_ns, 1.0), options_.slice_s);
      if (options_.loops) {
        state.plan.calls_per_chunk = *options_.loops;
        state.plan.chunks = 1;
      }
      result_.work[i].calls_a_slice = state.plan.calls_per_chunk * state.plan.chunks;
      state.min_samples =
          std::max(state.plan.slow ? options_.min_samples_slow : options_.min_samples,
                   counting_ == nullptr ? std::size_t{0} : counting_->passes());
      state.spent_ns = state.plan.slow ? call_ns : 0;
    }
  }

  // Least time spent first: fast work advances in step, slow work gets an equal share of time.
  // Past the budget only work without any sample is still picked. While other work goes on, what
  // has enough is looked at again now and then: on a shared machine a core is slower for seconds,
  // and slices in a row would see one mood of it and call it certain.
  std::size_t pick() const {
    constexpr double kAgainNs = 0.25e9;
    const double now = ns_since(begin_);
    const bool over = !options_.repeat && now > options_.budget_s * 1e9;
    std::size_t best = work_.size(), stale = work_.size();
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < work_.size(); ++i) {
      const State& state = states_[i];
      const bool wanted = over ? result_.work[i].call_ns.empty() : !state.converged;
      if (wanted && state.spent_ns < least) {
        best = i;
        least = state.spent_ns;
      }
      if (!over && !options_.repeat && !wanted && now - state.last_ns > kAgainNs) stale = i;
    }
    return best == work_.size() || stale == work_.size() ? best : stale;
  }

  // Returns the nanoseconds of a call.
  double run_slice(std::size_t index) {
    State& state = states_[index];
    Measurement& measured = result_.work[index];
    const SlicePlan& plan = state.plan;
    const std::size_t pass = counted_ ? measured.call_ns.size() % counting_->passes() : 0;
    std::vector<double> chunk_ns(plan.chunks);
    const unsigned cpu = current_cpu();
    const rusage usage = usage_of(RUSAGE_SELF);
    const bool counting = counted_ && counting_->start(pass).has_value();
    const auto begin = Clock::now();
    auto before = begin;
    for (double& ns : chunk_ns) {
      for (std::uint64_t call = 0; call < plan.calls_per_chunk; ++call) work_[index].run();
      const auto after = Clock::now();
      ns = std::chrono::duration<double, std::nano>(after - before).count() /
           static_cast<double>(plan.calls_per_chunk);
      before = after;
    }
    const double slice_ns = std::chrono::duration<double, std::nano>(before - begin).count();
    const auto calls = plan.calls_per_chunk * plan.chunks;
    // A window that cannot be read back adds nothing to the tally: the event then has no value.
    if (counting) (void)counting_->stop(pass, measured.tally, static_cast<double>(calls));
    const bool migrated = current_cpu() != cpu;
    measured.migrations += migrated ? 1 : 0;
    measured.conditions.push_back(conditions_between(usage, usage_of(RUSAGE_SELF), migrated));

    const double fastest = *std::min_element(chunk_ns.begin(), chunk_ns.end());
    measured.min_ns = measured.calls == 0 ? fastest : std::min(measured.min_ns, fastest);
    measured.calls += calls;
    measured.total_ns += slice_ns;
    measured.call_ns.push_back(median(std::move(chunk_ns)));
    state.spent_ns += slice_ns;
    state.last_ns = ns_since(begin_);
    return measured.call_ns.back();
  }

  double measure_peak() {
    result_.peak_gflops.push_back(
        team_peak_gflops(team_, fastest_fma_kernel(), options_.peak_slice_s));
    return result_.peak_gflops.back();
  }

  void update_convergence(std::size_t index) {
    constexpr std::size_t kCheckEvery = 5;  // a bootstrap costs about a millisecond
    const Measurement& measured = result_.work[index];
    const std::size_t samples = measured.call_ns.size(), least = states_[index].min_samples;
    if (options_.repeat) {
      states_[index].converged = samples >= *options_.repeat;
      return;
    }
    if (samples < least || (samples - least) % kCheckEvery != 0) return;
    const auto narrow = [this](const std::vector<double>& values) {
      return values.empty() || relative_half_width(bootstrap_median(values), median(values)) <=
                                   options_.target_half_width;
    };
    states_[index].converged = narrow(measured.call_ns) && narrow(measured.peak_ratio);
  }

  double fraction_done() const {
    const double by_time = options_.repeat ? 0 : ns_since(begin_) / (options_.budget_s * 1e9);
    double by_samples = 0;
    for (std::size_t i = 0; i < work_.size(); ++i) {
      const double share = static_cast<double>(result_.work[i].call_ns.size()) /
                           static_cast<double>(options_.repeat.value_or(states_[i].min_samples));
      by_samples += (states_[i].converged ? 1.0 : std::min(0.95, share));
    }
    return std::clamp(std::max(by_time, by_samples / static_cast<double>(work_.size())), 0.0, 1.0);
  }

  std::span<const Work> work_;
  ThreadTeam& team_;
  Counting* counting_;
  const RunnerOptions& options_;
  std::vector<State> states_;
  RunResult result_;
  bool counted_ = false;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

double team_peak_gflops(ThreadTeam& team, const FmaKernel& kernel, double seconds) {
  std::vector<double> gflops(team.size());
  team.run([&](std::size_t thread) { gflops[thread] = fma_slice_gflops(kernel, seconds); });
  double sum = 0;
  for (const double rate : gflops) sum += rate;
  return sum;
}

RunResult run_interleaved(std::span<const Work> work, ThreadTeam& team, Counting* counting,
                          const RunnerOptions& options, const std::atomic<bool>& stop,
                          const std::function<void(double)>& progress) {
  return InterleavedRun(work, team, counting, options).run(stop, progress);
}

}  // namespace hwprof
