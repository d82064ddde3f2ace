#include "src/measure/schedule.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "src/measure/slices.h"

namespace hwprof {
namespace {

long involuntary_switches() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

}  // namespace

class Interleaving::Schedule {
 public:
  Schedule(std::span<const Work> work, ThreadTeam& team, Counting* counting,
           ScheduleOptions options)
      : work_(work),
        counting_(counting),
        options_(std::move(options)),
        slices_(work, team, counting, options_),
        states_(work.size()) {}

  void run_until(double share, const std::atomic<bool>& stop,
                 const std::function<void(double)>& progress) {
    ScheduleResult& result = slices_.result();
    const long switches_before = involuntary_switches();
    begin_ns_ = wall_ns();
    until_ = share;
    if (!warm_) warm_up(stop);
    warm_ = true;
    slices_.begin();
    while (!stop.load(std::memory_order_relaxed)) {
      const std::size_t next = pick();
      if (next == work_.size()) break;
      State& state = states_[next];
      const double before = wall_ns();
      const std::size_t before_samples = slices_.samples(next);
      const std::uint64_t before_elsewhere = result.work[next].whole.left_out.elsewhere;
      if (!slices_.run(next)) {
        result.interrupted = true;
        break;
      }
      if (slices_.samples(next) > before_samples) {
        compare_neighbours(next);
      } else {
        ++state.lost;
        Measurement& whole = result.work[next].whole;
        if (whole.left_out.elsewhere == before_elsewhere) whole.lost = true;
      }
      state.spent_ns += wall_ns() - before;
      progress(share_done());
    }
    result.interrupted = result.interrupted || stop.load(std::memory_order_relaxed);
    switches_ += involuntary_switches() - switches_before;
    measured_ns_ += wall_ns() - *begin_ns_;
    begin_ns_.reset();
    last_.reset();  // what comes next has another neighbour
  }

  [[nodiscard]] double share_done() const {
    if (!options_.repeat) return std::clamp(spent_ns() / (options_.budget_s * 1e9), 0.0, 1.0);
    std::size_t done = 0;
    for (std::size_t i = 0; i < work_.size(); ++i) done += slices_.samples(i);
    return std::min(
        1.0, static_cast<double>(done) / static_cast<double>(*options_.repeat * work_.size()));
  }

  [[nodiscard]] const ScheduleResult& so_far() const { return slices_.result(); }

  ScheduleResult result() {
    ScheduleResult& result = slices_.result();
    if (measured_ns_ > 0)
      result.involuntary_switches_per_s = static_cast<double>(switches_) / (measured_ns_ * 1e-9);
    if (!options_.repeat) slices_.settle();
    return std::move(result);
  }

 private:
  struct State {
    double spent_ns = 0, slice_ns = 0;  // until now; what a slice takes, by the first calls
    std::size_t must = 1;               // slices, whatever the budget
    std::size_t lost = 0;               // slices of which no piece is left
  };

  // Measuring, all turns together.
  [[nodiscard]] double spent_ns() const {
    return measured_ns_ + (begin_ns_ ? wall_ns() - *begin_ns_ : 0);
  }

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
    const bool over = spent_ns() + kept_ns > until_ * options_.budget_s * 1e9;
    const double repeats = std::ceil(until_ * static_cast<double>(options_.repeat.value_or(0)));
    std::size_t best = work_.size();
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < work_.size(); ++i) {
      if (i == options_.baseline && work_.size() > 1) continue;
      const bool wanted = options_.repeat ? static_cast<double>(tried(i)) < repeats
                                          : !over || tried(i) < states_[i].must;
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

  std::span<const Work> work_;
  Counting* counting_;
  const ScheduleOptions options_;
  Slices slices_;
  std::vector<State> states_;
  bool warm_ = false;
  double until_ = 1;                      // share of the whole
  std::optional<std::size_t> last_;       // measured
  double last_ns_ = 0, baseline_ns_ = 0;  // of a call in its slice; in the baseline's last
  std::optional<double> begin_ns_;        // of this turn
  double measured_ns_ = 0;                // in those before
  long switches_ = 0;                     // in those before
};

Interleaving::Interleaving(std::span<const Work> work, ThreadTeam& team, Counting* counting,
                           ScheduleOptions options)
    : schedule_(std::make_unique<Schedule>(work, team, counting, std::move(options))) {}
Interleaving::~Interleaving() = default;
Interleaving::Interleaving(Interleaving&&) noexcept = default;
Interleaving& Interleaving::operator=(Interleaving&&) noexcept = default;

void Interleaving::run_until(double share, const std::atomic<bool>& stop,
                             const std::function<void(double)>& progress) {
  schedule_->run_until(share, stop, progress);
}
double Interleaving::share_done() const { return schedule_->share_done(); }
const ScheduleResult& Interleaving::so_far() const { return schedule_->so_far(); }
ScheduleResult Interleaving::result() && { return schedule_->result(); }

ScheduleResult run_interleaved(std::span<const Work> work, ThreadTeam& team, Counting* counting,
                               const ScheduleOptions& options, const std::atomic<bool>& stop,
                               const std::function<void(double)>& progress) {
  Interleaving whole(work, team, counting, options);
  whole.run_until(1, stop, progress);
  return std::move(whole).result();
}

}  // namespace hwprof
