#include "src/measure/slices.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/measure/statistics.h"

namespace hwprof {
namespace {

constexpr double kPieceNs = 0.3e6;

rusage usage_of_process() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage;
}

}  // namespace

Slices::Slices(std::span<const Work> work, ThreadTeam& team, Counting* counting,
               const ScheduleOptions& options)
    : work_(work),
      team_(team),
      counting_(counting),
      options_(options),
      watch_(options.clocks),
      steal_(options.cpus),
      plans_(work.size()) {
  result_.work.resize(work.size());
  for (std::size_t i = 0; i < work.size(); ++i) {
    if (work[i].by_part) result_.work[i].parts.resize(work[i].parts.size());
  }
}

double Slices::plan(std::size_t i, double call_ns) {
  const auto whole = [](double count) {
    return static_cast<std::uint64_t>(std::max(1.0, std::ceil(count)));
  };
  Plan& plan = plans_[i];
  plan.calls = options_.loops.value_or(whole(kPieceNs / std::max(call_ns, 1.0)));
  const double piece_ns = std::max(call_ns, 1.0) * static_cast<double>(plan.calls);
  if (!options_.loops) plan.pieces = whole(options_.slice_s * 1e9 / piece_ns);
  plan.peak_s = 1e-9 * std::max(kPieceNs, std::min(piece_ns, options_.longest_peak_s * 1e9));
  result_.work[i].whole.calls_a_slice = plan.calls * plan.pieces;
  if (work_[i].by_part) choose_clock(i, call_ns);
  return static_cast<double>(plan.pieces) *
         (call_ns * static_cast<double>(plan.calls) + plan.peak_s * 1e9);
}

// Between small parts the CPU clock's system call would be in the way. The wall clock is read
// there instead, and calls that another program interrupted are left out: calls of many small
// parts are shorter than a time slice of the scheduler, so that others are left.
void Slices::choose_clock(std::size_t i, double call_ns) {
  constexpr double kLeastPartNs = 20e3;
  Plan& plan = plans_[i];
  const auto parts = static_cast<double>(work_[i].parts.size());
  const bool cpu = work_[i].threads == 1 && call_ns / parts > kLeastPartNs;
  plan.clock = cpu ? options_.clocks.cpu_ns : options_.clocks.wall_ns;
  plan.boundaries.resize(work_[i].parts.size() + 1);
  result_.work[i].clock_ns = reading_ns(plan.clock);
}

void Slices::begin() {
  watch_.find_threads();
  if (counting_ != nullptr && counting_->refresh_threads()) counted_ = counting_->passes() > 0;
  last_peak_ = measure_peak(kPieceNs * 1e-9);
}

bool Slices::run(std::size_t i) {
  if (!work_[i].by_part) return slice_of_calls(i);
  slice_in_parts(i);
  return true;
}

// Runs it between two moments on both clocks.
template <class F>
Span Slices::time(std::size_t i, const F& run) {
  watch_.start(work_[i].threads);
  run();
  const Span span = watch_.stop();
  if (span.stepped_back) {
    ++result_.clock_steps;
  } else {
    result_.work[i].whole.waits_known = span.waits_known;
  }
  return span;
}

// Each pass of events once, then a fourth of the slices: counts need no more.
bool Slices::is_counted(std::size_t i) const {
  return samples(i) < counting_->passes() || samples(i) % 4 == 0;
}
std::size_t Slices::pass_of(std::size_t i) { return plans_[i].windows++ % counting_->passes(); }

// Its CPU went offline, or somebody changed where it may run: from then on it stands elsewhere.
bool Slices::left_its_cpus() const {
  const CpuList& cpus = options_.cpus;
  return !cpus.empty() && std::find(cpus.begin(), cpus.end(), current_cpu()) == cpus.end();
}

// Pieces and peaks in turn. False: the work has gone.
bool Slices::slice_of_calls(std::size_t i) {
  Measurement& measured = result_.work[i].whole;
  const Part& part = work_[i].parts.front();
  const Plan& plan = plans_[i];
  const auto calls = static_cast<double>(plan.calls);
  // A window costs some 10 us itself: of many short pieces, calls of their own are counted.
  const bool in_pieces = counted_ && plan.pieces == 1;
  const unsigned cpu = current_cpu();
  const rusage usage = usage_of_process();
  const std::optional<std::uint64_t> stolen = steal_.ticks();
  const bool began_elsewhere = left_its_cpus();
  std::vector<std::pair<Span, double>> timed;  // and the peak beside it
  Tally tally = measured.tally;
  const auto run_piece = [&] {
    for (std::uint64_t call = 0; call < plan.calls; ++call) part.run();
  };
  for (std::uint64_t piece = 0; piece < plan.pieces; ++piece) {
    Span span;
    const auto time_piece = [&] { span = time(i, run_piece); };
    if (part.slice_ns) {
      const std::optional<double> ns = part.slice_ns(options_.slice_s);
      if (!ns) return false;
      span.wall_ns = span.work_ns = span.on_cpu_ns = *ns * calls;
    } else if (in_pieces) {
      counting_->count(pass_of(i), tally, calls, time_piece);
    } else {
      time_piece();
    }
    const double peak_before = last_peak_;
    last_peak_ = measure_peak(plan.peak_s);
    if (!span.stepped_back) timed.emplace_back(span, (peak_before + last_peak_) / 2);
  }
  if (counted_ && !in_pieces && is_counted(i)) {
    counting_->count(pass_of(i), tally, calls * static_cast<double>(plan.pieces), [&] {
      for (std::uint64_t piece = 0; piece < plan.pieces; ++piece) run_piece();
    });
  }

  // What another CPU gives is no number of this one, however few slices are left.
  if (began_elsewhere || left_its_cpus()) {
    ++measured.left_out.elsewhere;
    return true;
  }
  measured.tally = std::move(tally);
  if (timed.empty()) return true;
  std::vector<double> work_ns, peaks, ratios, waited_ns;
  double wall = 0;
  for (const auto& [span, peak] : timed) {
    measured.add_time(span, plan.calls);
    wall += span.wall_ns;
    (span.waited ? waited_ns : work_ns).push_back(span.work_ns / calls);
    if (span.waited) continue;
    peaks.push_back(peak);
    if (part.flops > 0) ratios.push_back(part.flops * calls / span.work_ns / peak);
  }
  const rusage used = usage_of_process();
  report::Slice& slice = measured.slices.emplace_back();
  slice.ns = wall / (static_cast<double>(timed.size()) * calls);
  slice.waited = work_ns.empty();
  slice.work_ns = median(slice.waited ? std::move(waited_ns) : std::move(work_ns));
  slice.peak_gflops = peaks.empty() ? last_peak_ : median(std::move(peaks));
  if (part.flops > 0) {
    slice.peak_ratio = ratios.empty() ? part.flops / slice.work_ns / *slice.peak_gflops
                                      : median(std::move(ratios));
  }
  slice.migrated = current_cpu() != cpu;
  if (const auto ticks = steal_.ticks(); ticks && stolen) slice.stolen = *ticks > *stolen;
  // Of the whole process: a thread of the team that waits delays the others.
  slice.involuntary_switches = static_cast<std::uint64_t>(used.ru_nivcsw - usage.ru_nivcsw);
  slice.page_faults = static_cast<std::uint64_t>(used.ru_minflt - usage.ru_minflt + used.ru_majflt -
                                                 usage.ru_majflt);
  return true;
}

// Calls with and without a clock in between, interleaved, until the slice is over. The first call
// of a slice is not counted: the peak's piece before it left the caches as it likes.
void Slices::slice_in_parts(std::size_t i) {
  WorkTimes& times = result_.work[i];
  const std::size_t first = samples(i);
  const double peak_before = last_peak_;
  const double begin = wall_ns();
  call_whole(i);
  do {
    if (!call_by_part(i)) continue;
    const Span span = time(i, [&] { call_whole(i); });
    if (span.stepped_back) continue;
    if (left_its_cpus())
      ++times.whole.left_out.elsewhere;
    else
      times.whole.add_call(span);
  } while (wall_ns() - begin < options_.slice_s * 1e9 &&
           (!options_.repeat || samples(i) < *options_.repeat));
  last_peak_ = measure_peak(plans_[i].peak_s);
  const double peak = (peak_before + last_peak_) / 2;
  for (std::size_t p = 0; p < times.parts.size(); ++p)
    times.parts[p].add_peaks(first, work_[i].parts[p].flops, peak);
}

void Slices::call_whole(std::size_t i) {
  for (const Part& part : work_[i].parts) part.run();
}

// False: a clock stepped back in it, so that it is not there.
bool Slices::call_by_part(std::size_t i) {
  const std::vector<Part>& parts = work_[i].parts;
  WorkTimes& times = result_.work[i];
  Plan& plan = plans_[i];
  std::vector<double>& at = plan.boundaries;
  const Span call = time(i, [&] {
    at.front() = plan.clock();
    for (std::size_t p = 0; p < parts.size(); ++p) {
      parts[p].run();
      at[p + 1] = plan.clock();
    }
  });
  if (call.stepped_back) return false;
  if (left_its_cpus()) {
    ++times.whole.left_out.elsewhere;
    return false;
  }
  if (!std::is_sorted(at.begin(), at.end())) {
    ++result_.clock_steps;
    return false;
  }
  // On the wall clock, a single thread has waited where its CPU time is not all of it.
  const bool waited =
      call.waited || (plan.clock == options_.clocks.wall_ns && work_[i].threads == 1 &&
                      call.wall_ns - call.on_cpu_ns > kWaitedShare * call.wall_ns);
  Span sum;
  sum.waited = waited;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    Span span = call;
    span.work_ns = std::max(1.0, at[p + 1] - at[p] - times.clock_ns);
    span.wall_ns = span.on_cpu_ns = span.work_ns;
    span.waited = waited;
    sum.work_ns += span.work_ns;
    times.parts[p].add_call(span);
  }
  times.sum.add_call(sum);
  return true;
}

double Slices::measure_peak(double seconds) {
  const FmaKernel& kernel = options_.peak != nullptr ? *options_.peak : fastest_fma_kernel();
  const double gflops = team_peak_gflops(team_, kernel, seconds);
  if (!left_its_cpus()) result_.peak_gflops.push_back(gflops);
  return gflops;
}

void Slices::settle() {
  for (WorkTimes& times : result_.work) {
    times.whole.leave_out_disturbed();
    times.sum.leave_out_disturbed();
    for (Measurement& part : times.parts) part.leave_out_disturbed();
  }
}

}  // namespace hwprof
