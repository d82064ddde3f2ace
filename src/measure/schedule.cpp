#include "src/measure/schedule.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/base/clock.h"
#include "src/measure/disturbance.h"
#include "src/measure/statistics.h"

namespace hwprof {
namespace {

constexpr double kPieceNs = 0.3e6;
// Of its wall time: beyond this, a piece has waited for a CPU, not for another thread to wake up.
constexpr double kWaitedShare = 0.05;

// A moment on both clocks, the wall clock outside, so that no CPU time is missing in the wall's.
struct Moment {
  double wall_ns = 0, cpu_ns = 0;
};
Moment begin_now(const Clocks& clocks) {
  Moment now;
  now.wall_ns = clocks.wall_ns();
  now.cpu_ns = clocks.cpu_ns();
  return now;
}
Moment end_now(const Clocks& clocks) {
  Moment now;
  now.cpu_ns = clocks.cpu_ns();
  now.wall_ns = clocks.wall_ns();
  return now;
}

// What passed on both clocks: the one that counts, and whether other programs lengthened it.
struct Span {
  double wall_ns = 0, work_ns = 0, on_cpu_ns = 0;
  bool waited = false;
  bool stepped_back = false;  // a clock did: nothing is known of the time
};

// Calls of a piece, pieces of a slice, and seconds of the peak between them: as long as a piece, so
// that both see the same moods of the machine. A piece of 0.3 ms makes two readings of the CPU
// clock invisible.
struct Plan {
  std::uint64_t calls = 1, pieces = 1;
  double peak_s = 0;
};

Plan plan_slice(double call_ns, const ScheduleOptions& options) {
  const auto whole = [](double count) {
    return static_cast<std::uint64_t>(std::max(1.0, std::ceil(count)));
  };
  Plan plan;
  plan.calls = options.loops.value_or(whole(kPieceNs / std::max(call_ns, 1.0)));
  const double piece_ns = std::max(call_ns, 1.0) * static_cast<double>(plan.calls);
  if (!options.loops) plan.pieces = whole(options.slice_s * 1e9 / piece_ns);
  plan.peak_s = 1e-9 * std::max(kPieceNs, std::min(piece_ns, options.longest_peak_s * 1e9));
  return plan;
}

rusage usage_of(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  return usage;
}

long involuntary_switches() { return usage_of(RUSAGE_THREAD).ru_nivcsw; }

// The least of many: a reading costs no less, and whatever else it met is not its own.
double reading_ns(double (*clock)()) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 1000; ++i) {
    const double before = clock();
    least = std::min(least, clock() - before);
  }
  return least;
}

void add_time(Measurement& measured, const Span& span, std::uint64_t calls) {
  const double call_ns = span.work_ns / static_cast<double>(calls);
  if (!span.waited) {
    measured.min_ns = measured.pieces.empty() ? call_ns : std::min(measured.min_ns, call_ns);
    measured.pieces.push_back(call_ns);
  }
  measured.wall_ns += span.wall_ns;
  measured.on_cpu_ns += span.on_cpu_ns;
  measured.calls += calls;
}

void add_call(Measurement& measured, const Span& span) {
  add_time(measured, span, 1);
  report::Slice& slice = measured.slices.emplace_back();
  slice.ns = span.wall_ns;
  slice.work_ns = span.work_ns;
  slice.waited = span.waited;
}

// Of the samples from `first` on.
void add_peaks(Measurement& measured, std::size_t first, double flops, double peak_gflops) {
  for (std::size_t i = first; i < measured.slices.size(); ++i) {
    report::Slice& slice = measured.slices[i];
    slice.peak_gflops = peak_gflops;
    if (flops > 0) slice.peak_ratio = flops / slice.work_ns / peak_gflops;
  }
}

// Slices in which something else happened, unless too few others are left.
void leave_out_disturbed(Measurement& measured) {
  report::LeftOut out;
  const auto disturbed = [](const report::Slice& slice) {
    return slice.waited || slice.stolen.value_or(false) || slice.migrated.value_or(false);
  };
  for (const report::Slice& slice : measured.slices) {
    if (slice.waited) {
      ++out.waited;
    } else if (slice.stolen.value_or(false)) {
      ++out.stolen;
    } else {
      out.moved += slice.migrated.value_or(false) ? 1 : 0;
    }
  }
  if (out.total() == 0) return;
  measured.disturbed = measured.slices.size() - out.total() < kMinSamplesForInterval;
  if (measured.disturbed) return;
  measured.left_out = out;
  std::erase_if(measured.slices, disturbed);
}

// A window that cannot be started or read back adds nothing: the event then has no value.
template <class F>
void count(Counting& counting, std::size_t pass, Tally& tally, double calls, const F& run) {
  const bool counted = counting.start(pass).has_value();
  run();
  if (counted) (void)counting.stop(pass, tally, calls);
}

class Schedule {
 public:
  Schedule(std::span<const Work> work, ThreadTeam& team, Counting* counting,
           const ScheduleOptions& options)
      : work_(work),
        team_(team),
        counting_(counting),
        options_(options),
        steal_(options.cpus),
        states_(work.size()) {
    result_.work.resize(work.size());
    for (std::size_t i = 0; i < work.size(); ++i) {
      if (in_parts(i)) result_.work[i].parts.resize(work[i].parts.size());
    }
  }

  ScheduleResult run(const std::atomic<bool>& stop, const std::function<void(double)>& progress) {
    warm_up(stop);
    delays_.refresh();
    const long switches_before = involuntary_switches();
    const double measuring_since = wall_ns();
    if (counting_ != nullptr && counting_->refresh_threads()) counted_ = counting_->passes() > 0;
    last_peak_ = measure_peak(kPieceNs * 1e-9);
    while (!stop.load(std::memory_order_relaxed)) {
      const std::size_t next = pick();
      if (next == work_.size()) break;
      State& state = states_[next];
      const double before = wall_ns();
      const std::size_t before_samples = samples(next);
      if (in_parts(next)) {
        slice_in_parts(next);
      } else if (!slice_of_calls(next)) {
        result_.interrupted = true;
        break;
      }
      if (samples(next) > before_samples) {
        compare_neighbours(next);
      } else {
        ++state.lost;
        result_.work[next].whole.lost = true;
      }
      state.spent_ns += wall_ns() - before;
      progress(fraction_done());
    }
    result_.interrupted = result_.interrupted || stop.load(std::memory_order_relaxed);
    result_.involuntary_switches_per_s =
        static_cast<double>(involuntary_switches() - switches_before) /
        ((wall_ns() - measuring_since) * 1e-9);
    if (!options_.repeat) settle();
    return std::move(result_);
  }

 private:
  struct State {
    Plan plan;
    double spent_ns = 0, slice_ns = 0;  // until now; what a slice takes, by the first calls
    std::size_t windows = 0;            // of counting
    std::size_t must = 1;               // slices, whatever the budget
    std::size_t lost = 0;               // slices of which no piece is left
    double (*clock)() = wall_ns;        // that is read between parts
    std::vector<double> boundaries;     // of parts
  };

  [[nodiscard]] bool in_parts(std::size_t i) const { return work_[i].by_part; }
  [[nodiscard]] std::size_t samples(std::size_t i) const {
    return result_.work[i].whole.slices.size();
  }

  [[nodiscard]] std::size_t tried(std::size_t i) const { return samples(i) + states_[i].lost; }

  // The first call faults pages in and wakes threads: it says how long a piece has to be, no more.
  void warm_up(const std::atomic<bool>& stop) {
    for (std::size_t i = 0; i < work_.size() && !stop.load(std::memory_order_relaxed); ++i) {
      State& state = states_[i];
      double call_ns = work_[i].first_call_ns;
      if (work_[i].parts.front().slice_ns) call_ns = options_.slice_s * 1e9;
      if (call_ns == 0) call_ns = timed([&] { call_whole(i); });
      if (call_ns < options_.slice_s * 1e9) call_ns = timed([&] { call_whole(i); });
      state.plan = plan_slice(call_ns, options_);
      result_.work[i].whole.calls_a_slice = state.plan.calls * state.plan.pieces;
      state.slice_ns = static_cast<double>(state.plan.pieces) *
                       (call_ns * static_cast<double>(state.plan.calls) + state.plan.peak_s * 1e9);
      if (in_parts(i))
        choose_clock(i, call_ns);
      else if (counting_ != nullptr)
        state.must = std::max<std::size_t>(1, counting_->passes());
    }
  }

  template <class F>
  static double timed(const F& run) {
    const double before = wall_ns();
    run();
    return wall_ns() - before;
  }

  // Between small parts the CPU clock's system call would be in the way. The wall clock is read
  // there instead, and calls that another program interrupted are left out: calls of many small
  // parts are shorter than a time slice of the scheduler, so that others are left.
  void choose_clock(std::size_t i, double call_ns) {
    constexpr double kLeastPartNs = 20e3;
    State& state = states_[i];
    const auto parts = static_cast<double>(work_[i].parts.size());
    const bool cpu = work_[i].threads == 1 && call_ns / parts > kLeastPartNs;
    state.clock = cpu ? options_.clocks.cpu_ns : options_.clocks.wall_ns;
    state.must = kMinSamplesForInterval;
    state.boundaries.resize(work_[i].parts.size() + 1);
    result_.work[i].clock_ns = reading_ns(state.clock);
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

  // Runs it between two moments on both clocks.
  template <class F>
  Span span_of(std::size_t index, Measurement& measured, const F& run) {
    const int threads = work_[index].threads;
    const std::optional<double> waited = threads > 1 ? delays_.ns() : std::nullopt;
    const Moment begin = begin_now(options_.clocks);
    run();
    const Moment end = end_now(options_.clocks);
    Span span;
    span.wall_ns = end.wall_ns - begin.wall_ns;
    span.stepped_back = span.wall_ns < 0 || end.cpu_ns < begin.cpu_ns;
    if (span.stepped_back) {
      ++result_.clock_steps;
      return span;
    }
    if (threads == 1) {
      // A clock with coarse steps (an emulator's) may not have moved.
      span.work_ns = std::max(1.0, end.cpu_ns - begin.cpu_ns);
      span.on_cpu_ns = end.cpu_ns - begin.cpu_ns;
      return span;
    }
    span.work_ns = span.on_cpu_ns = span.wall_ns;
    const std::optional<double> waited_since = delays_.ns();
    measured.waits_known = waited && waited_since;
    if (!measured.waits_known) return span;
    const double delay = std::max(0.0, *waited_since - *waited);
    span.waited = delay > kWaitedShare * span.wall_ns;
    span.on_cpu_ns = std::max(0.0, span.wall_ns - delay / threads);
    return span;
  }

  // Each pass of events once, then a fourth of the slices: counts need no more.
  [[nodiscard]] bool is_counted(std::size_t i) const {
    return samples(i) < counting_->passes() || samples(i) % 4 == 0;
  }
  std::size_t pass_of(std::size_t i) { return states_[i].windows++ % counting_->passes(); }

  // Of what was measured last: a slice of the baseline ends what began with the one before it.
  void compare_neighbours(std::size_t index) {
    if (!options_.baseline) return;
    const double work_ns = result_.work[index].whole.slices.back().work_ns;
    if (index == *options_.baseline) {
      if (last_ && *last_ != index) {
        result_.work[*last_].whole.baseline_ratios.push_back(last_ns_ /
                                                             ((baseline_ns_ + work_ns) / 2));
      }
      baseline_ns_ = work_ns;
    }
    last_ = index;
    last_ns_ = work_ns;
  }

  // Its CPU went offline, or somebody changed where it may run: from then on it stands elsewhere.
  [[nodiscard]] bool left_its_cpus() const {
    const CpuList& cpus = options_.cpus;
    return !cpus.empty() && std::find(cpus.begin(), cpus.end(), current_cpu()) == cpus.end();
  }

  // Pieces and peaks in turn. False: the work has gone.
  bool slice_of_calls(std::size_t index) {
    Measurement& measured = result_.work[index].whole;
    const Part& part = work_[index].parts.front();
    const Plan& plan = states_[index].plan;
    const auto calls = static_cast<double>(plan.calls);
    // A window costs some 10 us itself: of many short pieces, calls of their own are counted.
    const bool in_pieces = counted_ && plan.pieces == 1;
    const unsigned cpu = current_cpu();
    const rusage usage = usage_of(RUSAGE_SELF);
    const std::optional<std::uint64_t> stolen = steal_.ticks();
    std::vector<double> work_ns, peaks, ratios, waited_ns;
    double wall = 0;
    const auto run_piece = [&] {
      for (std::uint64_t call = 0; call < plan.calls; ++call) part.run();
    };
    for (std::uint64_t piece = 0; piece < plan.pieces; ++piece) {
      Span span;
      const auto time_piece = [&] { span = span_of(index, measured, run_piece); };
      if (part.slice_ns) {
        const std::optional<double> ns = part.slice_ns(options_.slice_s);
        if (!ns) return false;
        span.wall_ns = span.work_ns = span.on_cpu_ns = *ns * calls;
      } else if (in_pieces) {
        count(*counting_, pass_of(index), measured.tally, calls, time_piece);
      } else {
        time_piece();
      }
      const double peak_before = last_peak_;
      last_peak_ = measure_peak(plan.peak_s);
      const double peak = (peak_before + last_peak_) / 2;
      if (span.stepped_back) continue;
      add_time(measured, span, plan.calls);
      wall += span.wall_ns;
      (span.waited ? waited_ns : work_ns).push_back(span.work_ns / calls);
      if (span.waited) continue;
      peaks.push_back(peak);
      if (part.flops > 0) ratios.push_back(part.flops * calls / span.work_ns / peak);
    }
    if (counted_ && !in_pieces && is_counted(index)) {
      count(*counting_, pass_of(index), measured.tally, calls * static_cast<double>(plan.pieces),
            [&] {
              for (std::uint64_t piece = 0; piece < plan.pieces; ++piece) run_piece();
            });
    }

    const std::size_t pieces = work_ns.size() + waited_ns.size();
    if (pieces == 0) return true;
    const rusage used = usage_of(RUSAGE_SELF);
    report::Slice& slice = measured.slices.emplace_back();
    slice.ns = wall / (static_cast<double>(pieces) * calls);
    slice.waited = work_ns.empty();
    slice.work_ns = median(slice.waited ? std::move(waited_ns) : std::move(work_ns));
    slice.peak_gflops = peaks.empty() ? last_peak_ : median(std::move(peaks));
    if (part.flops > 0) {
      slice.peak_ratio = ratios.empty() ? part.flops / slice.work_ns / *slice.peak_gflops
                                        : median(std::move(ratios));
    }
    slice.migrated = current_cpu() != cpu || left_its_cpus();
    if (const auto ticks = steal_.ticks(); ticks && stolen) slice.stolen = *ticks > *stolen;
    // Of the whole process: a thread of the team that waits delays the others.
    slice.involuntary_switches = static_cast<std::uint64_t>(used.ru_nivcsw - usage.ru_nivcsw);
    slice.page_faults = static_cast<std::uint64_t>(used.ru_minflt - usage.ru_minflt +
                                                   used.ru_majflt - usage.ru_majflt);
    return true;
  }

  // Calls with and without a clock in between, interleaved, until the slice is over. The first call
  // of a slice is not counted: the peak's piece before it left the caches as it likes.
  void slice_in_parts(std::size_t i) {
    WorkTimes& times = result_.work[i];
    const std::size_t first = samples(i);
    const double peak_before = last_peak_;
    const double begin = wall_ns();
    call_whole(i);
    do {
      if (!call_by_part(i)) continue;
      const Span span = span_of(i, times.whole, [&] { call_whole(i); });
      if (!span.stepped_back) add_call(times.whole, span);
    } while (wall_ns() - begin < options_.slice_s * 1e9 &&
             (!options_.repeat || samples(i) < *options_.repeat));
    last_peak_ = measure_peak(states_[i].plan.peak_s);
    const double peak = (peak_before + last_peak_) / 2;
    for (std::size_t p = 0; p < times.parts.size(); ++p)
      add_peaks(times.parts[p], first, work_[i].parts[p].flops, peak);
  }

  void call_whole(std::size_t i) {
    for (const Part& part : work_[i].parts) part.run();
  }

  // False: a clock stepped back in it, so that it is not there.
  bool call_by_part(std::size_t i) {
    const std::vector<Part>& parts = work_[i].parts;
    WorkTimes& times = result_.work[i];
    State& state = states_[i];
    std::vector<double>& at = state.boundaries;
    const Span call = span_of(i, times.whole, [&] {
      at.front() = state.clock();
      for (std::size_t p = 0; p < parts.size(); ++p) {
        parts[p].run();
        at[p + 1] = state.clock();
      }
    });
    if (call.stepped_back) return false;
    if (!std::is_sorted(at.begin(), at.end())) {
      ++result_.clock_steps;
      return false;
    }
    // On the wall clock, a single thread has waited where its CPU time is not all of it.
    const bool waited =
        call.waited || (state.clock == options_.clocks.wall_ns && work_[i].threads == 1 &&
                        call.wall_ns - call.on_cpu_ns > kWaitedShare * call.wall_ns);
    Span sum;
    sum.waited = waited;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      Span span = call;
      span.work_ns = std::max(1.0, at[p + 1] - at[p] - times.clock_ns);
      span.wall_ns = span.on_cpu_ns = span.work_ns;
      span.waited = waited;
      sum.work_ns += span.work_ns;
      add_call(times.parts[p], span);
    }
    add_call(times.sum, sum);
    return true;
  }

  double measure_peak(double seconds) {
    const FmaKernel& kernel = options_.peak != nullptr ? *options_.peak : fastest_fma_kernel();
    result_.peak_gflops.push_back(team_peak_gflops(team_, kernel, seconds));
    return result_.peak_gflops.back();
  }

  void settle() {
    for (WorkTimes& times : result_.work) {
      leave_out_disturbed(times.whole);
      leave_out_disturbed(times.sum);
      for (Measurement& part : times.parts) leave_out_disturbed(part);
    }
  }

  [[nodiscard]] double fraction_done() const {
    if (!options_.repeat)
      return std::clamp((wall_ns() - begin_ns_) / (options_.budget_s * 1e9), 0.0, 1.0);
    std::size_t done = 0;
    for (std::size_t i = 0; i < work_.size(); ++i) done += samples(i);
    return std::min(
        1.0, static_cast<double>(done) / static_cast<double>(*options_.repeat * work_.size()));
  }

  std::span<const Work> work_;
  ThreadTeam& team_;
  Counting* counting_;
  const ScheduleOptions& options_;
  RunDelays delays_;
  Steal steal_;
  std::vector<State> states_;
  ScheduleResult result_;
  bool counted_ = false;
  double last_peak_ = 0;
  std::optional<std::size_t> last_;       // measured
  double last_ns_ = 0, baseline_ns_ = 0;  // of a call in its slice; in the baseline's last
  double begin_ns_ = wall_ns();
};

}  // namespace

std::vector<double> Measurement::values(double report::Slice::*member) const {
  std::vector<double> all;
  all.reserve(slices.size());
  for (const report::Slice& slice : slices) all.push_back(slice.*member);
  return all;
}

std::vector<double> Measurement::peak_ratios() const {
  std::vector<double> all;
  for (const report::Slice& slice : slices)
    if (slice.peak_ratio) all.push_back(*slice.peak_ratio);
  return all;
}

double team_peak_gflops(ThreadTeam& team, const FmaKernel& kernel, double seconds) {
  std::vector<double> gflops(team.size());
  team.run([&](std::size_t thread) { gflops[thread] = fma_slice_gflops(kernel, seconds); });
  double sum = 0;
  for (const double rate : gflops) sum += rate;
  return sum;
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
  const double begin = wall_ns();
  for (std::size_t call = 0; call < kMostCalls && !stop.load(std::memory_order_relaxed); ++call) {
    const std::size_t pass = call % counting.passes();
    const bool over = wall_ns() - begin > budget_s * 1e9;
    if (call >= counting.passes() && pass == 0 && over) break;  // each pass equally often
    for (std::size_t i = 0; i < work.size(); ++i) {
      for (std::size_t p = 0; p < work[i].parts.size(); ++p) {
        count(counting, pass, counts.work[i][p], 1, work[i].parts[p].run);
      }
    }
    count(counting, pass, counts.nothing, 1, [] {});
  }
  return counts;
}

}  // namespace hwprof
