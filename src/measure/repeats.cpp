#include "src/measure/repeats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "src/measure/measurement.h"
#include "src/measure/statistics.h"

namespace hwprof {
namespace {

using report::TimedRun;

// A run that is longer by less is no outlier, however quiet the others were.
constexpr double kLeastExcess = 0.02;
// Counts differ by as much without any consequence.
constexpr double kLeastMore = 0.1, kLeastCount = 0.5;
// Slices of the FMA peak repeat within 1 % while the clock stays.
constexpr double kOtherClock = 0.03;

struct Count {
  const char* one;
  const char* many;
  double (*of)(const TimedRun& run);
};

constexpr Count kCounts[] = {
    {"page fault that read from a disk", "page faults that read from a disk",
     [](const TimedRun& run) { return static_cast<double>(run.major_faults); }},
    {"involuntary context switch", "involuntary context switches",
     [](const TimedRun& run) { return static_cast<double>(run.involuntary_switches); }},
    {"migration", "migrations", [](const TimedRun& run) { return run.migrations.value_or(0); }},
    {"page fault", "page faults",
     [](const TimedRun& run) { return static_cast<double>(run.page_faults); }},
};

double cpu_s(const TimedRun& run) { return run.user_s + run.system_s; }

template <class Of>
std::vector<double> values(const std::vector<TimedRun>& runs, Of of) {
  std::vector<double> all;
  all.reserve(runs.size());
  for (const TimedRun& run : runs) all.push_back(of(run));
  return all;
}

report::RepeatedTime repeated(std::vector<double> samples) {
  report::RepeatedTime time;
  if (!samples.empty()) {
    const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
    time.best = *least;
    time.worst = *most;
    time.median = median(samples);
  }
  if (samples.size() >= kMinSamplesForInterval) {
    const Interval interval = bootstrap_median(samples);
    time.ci95_low = interval.low;
    time.ci95_high = interval.high;
  }
  time.samples = std::move(samples);
  return time;
}

double more_wall_s(const std::vector<TimedRun>& runs, const TimedRun& run) {
  return run.wall_s - median(values(runs, [](const TimedRun& each) { return each.wall_s; }));
}

std::string clock_cause(const std::vector<TimedRun>& runs, const TimedRun& run) {
  std::vector<double> peaks;
  for (const TimedRun& each : runs)
    if (each.peak_gflops) peaks.push_back(*each.peak_gflops);
  if (!run.peak_gflops || peaks.empty()) return {};
  const double lower = 1 - *run.peak_gflops / median(std::move(peaks));
  if (lower < kOtherClock) return {};
  return fmt::format("another clock: the FMA peak around it was {:.0f} % lower than usual",
                     100 * lower);
}

// Somebody else had the CPU. Only where it explains a good part of the time that was lost.
std::string waiting_cause(const std::vector<TimedRun>& runs, const TimedRun& run) {
  constexpr double kGoodPart = 0.25;
  constexpr double kMsPerS = 1e3;
  std::vector<double> waits;
  for (const TimedRun& each : runs)
    if (each.waited_s) waits.push_back(*each.waited_s);
  if (!run.waited_s || waits.empty()) return {};
  if (*run.waited_s <= upper_fence(waits, kLeastMore, kGoodPart * more_wall_s(runs, run)))
    return {};
  return fmt::format(
      "others had the CPU: it was ready and waited {:.0f} ms for one (usual: {:.0f} ms)",
      kMsPerS * *run.waited_s, kMsPerS * median(std::move(waits)));
}

std::string unknown_cause(const std::vector<TimedRun>& runs, const TimedRun& run) {
  const double more_cpu = cpu_s(run) - median(values(runs, cpu_s));
  const std::string seen = more_cpu > more_wall_s(runs, run) / 2
                               ? "it took more CPU time with the same counts as the others"
                               : "it took no more CPU time, but waited";
  return "not known; " + seen +
         (run.peak_gflops ? "" : ". With --pin CPU hwprof watches the clock as well");
}

std::string cause_of(const std::vector<TimedRun>& runs, std::size_t index, unsigned warmup) {
  const TimedRun& run = runs[index];
  std::vector<std::string> causes;
  if (index == 0 && warmup == 0)
    causes.emplace_back("it was the first, on colder caches than the others: try --warmup 1");
  for (std::string cause : {clock_cause(runs, run), waiting_cause(runs, run)})
    if (!cause.empty()) causes.push_back(std::move(cause));
  for (const Count& count : kCounts) {
    const std::vector<double> all = values(runs, count.of);
    const double its = count.of(run);
    if (its <= upper_fence(all, kLeastMore, kLeastCount)) continue;
    causes.push_back(
        fmt::format("{} {} (usual: {})", its, its == 1 ? count.one : count.many, median(all)));
  }
  if (causes.empty()) return unknown_cause(runs, run);
  std::string text;
  for (const std::string& cause : causes) text += (text.empty() ? "" : "; ") + cause;
  return text;
}

}  // namespace

void summarise(report::Repeats& repeats) {
  const std::vector<TimedRun>& runs = repeats.runs;
  repeats.wall_s = repeated(values(runs, [](const TimedRun& run) { return run.wall_s; }));
  repeats.user_s = repeated(values(runs, [](const TimedRun& run) { return run.user_s; }));
  repeats.system_s = repeated(values(runs, [](const TimedRun& run) { return run.system_s; }));
  if (runs.size() < kMinSamplesForInterval) {
    repeats.notes.push_back(
        fmt::format("Fewer than {} runs: no interval has 95 %, and no run is judged an outlier.",
                    kMinSamplesForInterval));
    return;
  }
  const double fence = upper_fence(repeats.wall_s.samples, kLeastExcess, 0);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].wall_s <= fence) continue;
    repeats.outliers.push_back({.index = i,
                                .wall_s = runs[i].wall_s,
                                .above_median = runs[i].wall_s / *repeats.wall_s.median - 1,
                                .cause = cause_of(runs, i, repeats.warmup)});
  }
}

}  // namespace hwprof
