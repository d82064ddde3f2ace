// What the report says of `hwprof run --repeat`.
#include <fmt/format.h>

#include <algorithm>

#include "src/report/documents/run_content.h"
#include "src/report/render/format.h"

namespace hwprof::report {
namespace {

constexpr std::size_t kMostRawTimes = 100;  // in words; the JSON report has all
constexpr std::size_t kMostOutliers = 12;
constexpr double kNsPerS = 1e9;

std::string time_cell(const std::optional<double>& seconds) {
  if (!seconds) return std::string(kAbsent);
  return *seconds == 0 ? "0 s" : duration(*seconds * kNsPerS);  // less than the kernel accounts
}

std::string median_cell(const RepeatedTime& time) {
  if (!time.ci95_low || !time.ci95_high || *time.ci95_high == 0) return time_cell(time.median);
  if (*time.median == 0) return "0 to " + time_cell(time.ci95_high);  // no unit fits it
  return duration_with_interval(*time.median * kNsPerS, *time.ci95_low * kNsPerS,
                                *time.ci95_high * kNsPerS);
}

std::string raw_times(const std::vector<double>& samples) {
  std::string text;
  for (std::size_t i = 0; i < std::min(samples.size(), kMostRawTimes); ++i)
    text += (i == 0 ? "" : ", ") + duration(samples[i] * kNsPerS);
  if (samples.size() > kMostRawTimes)
    text += fmt::format(" and {} more", samples.size() - kMostRawTimes);
  return text;
}

}  // namespace

Table repeats_table(const Repeats& repeats) {
  const std::size_t count = repeats.runs.size();
  Table table{.title = fmt::format("Time of {}, timed and not observed", counted(count, "run")),
              .columns = {{"time", true}, {"best"}, {"median\n±95 %"}, {"worst"}},
              .rows = {},
              .notes = {}};
  if (repeats.warmup > 0)
    table.title += fmt::format(", after {}", counted(repeats.warmup, "warm-up run"));
  if (count > 0) {
    for (const auto& [name, time] : {std::pair{"wall", &repeats.wall_s},
                                     {"user", &repeats.user_s},
                                     {"system", &repeats.system_s}}) {
      table.rows.push_back(
          {"", {name, time_cell(time->best), median_cell(*time), time_cell(time->worst)}});
    }
    table.notes.push_back(
        fmt::format("1 loop, best of {}: {} per loop", count, time_cell(repeats.wall_s.best)));
    table.notes.push_back("raw times: " + raw_times(repeats.wall_s.samples));
  }
  if (!repeats.stopped.empty()) {
    table.notes.push_back(fmt::format("{} of {} runs: {}", count, repeats.wanted, repeats.stopped));
  }
  table.notes.insert(table.notes.end(), repeats.notes.begin(), repeats.notes.end());
  return table;
}

Table outliers_table(const Repeats& repeats) {
  Table table{
      .title = "Runs that took longer than the rest", .columns = {}, .rows = {}, .notes = {}};
  for (const RepeatOutlier& outlier : repeats.outliers) {
    if (table.notes.size() == kMostOutliers) {
      table.notes.push_back(fmt::format("and {} more", repeats.outliers.size() - kMostOutliers));
      break;
    }
    table.notes.push_back(fmt::format("run {}, {} ({} above the median): {}", outlier.index + 1,
                                      duration(outlier.wall_s * kNsPerS),
                                      percent(outlier.above_median), outlier.cause));
  }
  if (!repeats.outliers.empty() && !repeats.migrations_reason.empty())
    table.notes.push_back("migrations: " + repeats.migrations_reason);
  return table;
}

}  // namespace hwprof::report
