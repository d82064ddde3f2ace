#include "src/measure/schedule.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

#include "src/measure/slices.h"

namespace hwprof {
namespace {

long involuntary_switches() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

class Schedule {
 public:
  Schedule(std::span<const Work> work, ThreadTeam& team, Counting* counting,
           const ScheduleOptions& options)
      : work_(work),
        counting_(counting),
        options_(options),
        slices_(work, team, counting, options),
        states_(work.size()) {}

  ScheduleResult run(const std::atomic<bool>& stop, const std::function<void(double)>& progress) {
    ScheduleResult& result = slices_.result();
    warm_up(stop);
    const long switches_before = involuntary_switches();
    const double measuring_since = wall_ns();
    slices_.begin();
    while (!stop.load(std::memory_order_relaxed)) {
      const std::size_t next = pick();
      if (next == work_.size()) break;
      State& state = states_[next];
      const double before = wall_ns();
      const std::size_t before_samples = slices_.samples(next);
      const std::uint64_t before_moved = result.work[next].whole.left_out.moved;
      if (!slices_.run(next)) {
        result.interrupted = true;
        break;
      }
      if (slices_.samples(next) > before_samples) {
        compare_neighbours(next);
      } else {
        ++state.lost;
        Measurement& whole = result.work[next].whole;
        if (whole.left_out.moved == before_moved) whole.lost = true;
      }
      state.spent_ns += wall_ns() - before;
      progress(fraction_done());
    }
    result.interrupted = result.interrupted || stop.load(std::memory_order_relaxed);
    result.involuntary_switches_per_s =
        static_cast<double>(involuntary_switches() - switches_before) /
        ((wall_ns() - measuring_since) * 1e-9);
    if (!options_.repeat) slices_.settle();
    return std::move(result);
  }

 private:
  struct State {
    double spent_ns = 0, slice_ns = 0;  // until now; what a slice takes, by the first calls
    std::size_t must = 1;               // slices, whatever the budget
    std::size_t lost = 0;               // slices of which no piece is left
  };

  [[nodiscard]] std::size_t tried(std::size_t i) const {
    return slices_.samples(i) + states_[i].lost;
  }

  // The first call faults pages in and wakes threads: it says how long a piece has to be, no more.
  void warm_up(const std::atomic<bool>& stop) {
    for (std::size_t i = 0; i < work_.size() && !stop.load(std::memory_order_relaxed); ++i) {
      State& state = states_[i];
      const auto timed_call = [&] {
        const double before = wall_ns();
        slices_.call_whole(i);
        return wall_ns() - before;
      };
      double call_ns = work_[i].first_call_ns;
      if (work_[i].parts.front().slice_ns) call_ns = options_.slice_s * 1e9;
      if (call_ns == 0) call_ns = timed_call();
      if (call_ns < options_.slice_s * 1e9) call_ns = timed_call();
      state.slice_ns = slices_.plan(i, call_ns);
      if (work_[i].by_part)
        state.must = kMinSamplesForInterval;
      else if (counting_ != nullptr)
        state.must = std::max<std::size_t>(1, counting_->passes());
    }
  }

  // Least time spent first, the next slice included: fast work advances in step, slow work gets an
  // equal share of time. Nothing ends before the budget does: on a shared machine a core is slower
  // for seconds, and what stops early has seen one mood of it and calls it certain. Time for slices
  // that work must have is kept back; past the budget only those are still picked.
  [[nodiscard]] std::size_t pick() const {
    if (options_.baseline && last_ != options_.baseline) return *options_.baseline;
    double kept_ns = 0;
    for (std::size_t i = 0; i < work_.size(); ++i) {
      const std::size_t had = std::min(tried(i), states_[i].must);
      kept_ns += static_cast<double>(states_[i].must - had) * states_[i].slice_ns;
    }
    const bool over = wall_ns() - begin_ns_ + kept_ns > options_.budget_s * 1e9;
    std::size_t best = work_.size();
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < work_.size(); ++i) {
      if (i == options_.baseline && work_.size() > 1) continue;
      const bool wanted =
          options_.repeat ? tried(i) < *options_.repeat : !over || tried(i) < states_[i].must;
      const double spent_ns = states_[i].spent_ns + states_[i].slice_ns;
      if (wanted && spent_ns < least) {
        best = i;
        least = spent_ns;
      }
    }
    return best;
  }

  // Of what was measured last: a slice of the baseline ends what began with the one before it.
  void compare_neighbours(std::size_t index) {
    if (!options_.baseline) return;
    const double work_ns = slices_.result().work[index].whole.slices.back().work_ns;
    if (index == *options_.baseline) {
      if (last_ && *last_ != index) {
        slices_.result().work[*last_].whole.baseline_ratios.push_back(
            last_ns_ / ((baseline_ns_ + work_ns) / 2));
      }
      baseline_ns_ = work_ns;
    }
    last_ = index;
    last_ns_ = work_ns;
  }

  [[nodiscard]] double fraction_done() const {
    if (!options_.repeat)
      return std::clamp((wall_ns() - begin_ns_) / (options_.budget_s * 1e9), 0.0, 1.0);
    std::size_t done = 0;
    for (std::size_t i = 0; i < work_.size(); ++i) done += slices_.samples(i);
    return std::min(
        1.0, static_cast<double>(done) / static_cast<double>(*options_.repeat * work_.size()));
  }

  std::span<const Work> work_;
  Counting* counting_;
  const ScheduleOptions& options_;
  Slices slices_;
  std::vector<State> states_;
  std::optional<std::size_t> last_;       // measured
  double last_ns_ = 0, baseline_ns_ = 0;  // of a call in its slice; in the baseline's last
  double begin_ns_ = wall_ns();
};

}  // namespace

ScheduleResult run_interleaved(std::span<const Work> work, ThreadTeam& team, Counting* counting,
                               const ScheduleOptions& options, const std::atomic<bool>& stop,
                               const std::function<void(double)>& progress) {
  return Schedule(work, team, counting, options).run(stop, progress);
}

}  // namespace hwprof
