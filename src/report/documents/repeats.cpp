// Repeated work: calls of `hwprof profile --repeat` as timeit prints them, runs of `hwprof run
// --repeat`, and the times that stand out. The unit, its digits and the sentence are those of
// Python's timeit, so that the two can be held side by side.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/format.h"
#include "src/report/documents/content.h"
#include "src/report/documents/reasons.h"

namespace hwprof::report {
namespace {

constexpr std::size_t kMostRawTimes = 100;  // in words; the JSON report has all
constexpr std::size_t kMostOutliers = 12;
constexpr double kNsPerS = 1e9;

// "1.23 msec": three digits, in the largest unit that leaves 1 or more before the point.
std::string timeit_duration(double ns) {
  constexpr struct {
    double ns;
    const char* name;
  } kUnits[] = {{1e9, "sec"}, {1e6, "msec"}, {1e3, "usec"}};
  for (const auto& unit : kUnits)
    if (ns >= unit.ns) return fmt::format("{:.3g} {}", ns / unit.ns, unit.name);
  return fmt::format("{:.3g} nsec", ns);
}

std::string timeit_sentence(const Row& row) {
  return fmt::format("{}, best of {}: {} per loop", counted(row.repeated->loops, "loop"),
                     row.time_ns->samples, timeit_duration(row.repeated->best_ns));
}

std::string seconds_cell(const std::optional<double>& seconds) {
  if (!seconds) return std::string(kAbsent);
  return *seconds == 0 ? "0 s" : duration(*seconds * kNsPerS);  // less than the kernel accounts
}

std::string median_cell(const RepeatedTime& time) {
  if (!time.ci95_low || !time.ci95_high || *time.ci95_high == 0) return seconds_cell(time.median);
  if (*time.median == 0) return "0 to " + seconds_cell(time.ci95_high);  // no unit fits it
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

Table repeats_table(const Profile& profile) {
  Table table{.title = "Repeats, as timeit prints them",
              .columns = {{"variant", true}, {"best of all", true}, {"median"}, {"outliers"}},
              .rows = {},
              .notes = {}};
  Reasons reasons;
  for (const Row& row : profile.rows) {
    if (!row.repeated || !row.time_ns) continue;
    const TimeNs& time = *row.time_ns;
    table.rows.push_back(
        {group_of(row),
         {row.variant, timeit_sentence(row), time_cell(time),
          row.repeated->outliers_reason.empty() ? fmt::format("{}", row.repeated->outliers.size())
                                                : std::string(kAbsent)}});
    if (!row.repeated->outliers_reason.empty())
      reasons.add(row.repeated->outliers_reason, name_of(row) + " (outliers)");
    for (const Outlier& outlier : row.repeated->outliers) {
      table.notes.push_back(fmt::format("{}, repeat {}: {}, {} times the median; cause: {}",
                                        name_of(row), outlier.index + 1, duration(outlier.ns),
                                        significant(outlier.ns / time.median, 3), outlier.cause));
    }
  }
  if (!table.rows.empty()) {
    table.notes.insert(table.notes.begin(),
                       "best: the fastest repeat, a call; outliers: repeats beyond what the "
                       "largest of 98 % of rows of mere noise reach.");
  }
  append(table.notes, reasons.sentences());
  table.brief = table.notes;
  return table;
}

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
          {"", {name, seconds_cell(time->best), median_cell(*time), seconds_cell(time->worst)}});
    }
    table.notes.push_back(
        fmt::format("1 loop, best of {}: {} per loop", count, seconds_cell(repeats.wall_s.best)));
    table.notes.push_back("raw times: " + raw_times(repeats.wall_s.samples));
  }
  if (!repeats.stopped.empty()) {
    table.notes.push_back(fmt::format("{} of {} runs: {}", count, repeats.wanted, repeats.stopped));
  }
  table.notes.insert(table.notes.end(), repeats.notes.begin(), repeats.notes.end());
  table.brief = table.notes;
  std::erase_if(table.brief, [](const std::string& note) { return note.starts_with("raw times"); });
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
  table.brief = table.notes;
  return table;
}

}  // namespace hwprof::report
