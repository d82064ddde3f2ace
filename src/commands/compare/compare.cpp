#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>

#include "src/base/text.h"
#include "src/cli/groups.h"
#include "src/cli/values.h"
#include "src/commands/commands.h"
#include "src/commands/compare/comparable.h"
#include "src/commands/compare/turns.h"
#include "src/commands/interrupt.h"
#include "src/report/data/writers.h"
#include "src/report/documents/content.h"
#include "src/report/documents/documents.h"
#include "src/report/render/write_report.h"

namespace hwprof {
namespace {

constexpr std::uint64_t kMostTurns = 10000, kMostSliceMs = 1000;
// Several runs a side, or runs by turns, show smaller differences than one run can.
constexpr double kThresholdOfOneRun = 0.05, kThresholdOfRuns = 0.02;

constexpr cli::Choice<ExactBy> kExactBy[] = {{"instructions", ExactBy::kInstructions},
                                             {"flops", ExactBy::kFlops},
                                             {"bytes", ExactBy::kBytes}};

struct CompareOptions {
  std::vector<std::string> files;   // the first one is the baseline, or all with others behind --
  std::vector<std::string> others;  // behind --: files, or with by_turns a command
  std::string by_turns;             // the baseline's command; empty: files
  std::optional<double> threshold;
  std::optional<std::size_t> runs;
  std::optional<std::uint64_t> slice_ms;
  double budget_s = 60;
  std::optional<ExactBy> exact;  // absent: times
  bool strict = false, accept_busy = false;
  Output output;
};

// The rows of the baseline that `other` has, too.
struct Match {
  const ComparableRow *baseline, *other;
};

std::vector<Match> match(const Comparable& baseline, const Comparable& other) {
  std::vector<Match> matches;
  for (const ComparableRow& row : baseline.rows)
    if (const ComparableRow* same = find_row(other, row)) matches.push_back({&row, same});
  return matches;
}

std::vector<std::string> only_in(const Comparable& one, const Comparable& other) {
  std::vector<std::string> unmatched;
  for (const ComparableRow& row : one.rows)
    if (find_row(other, row) == nullptr)
      unmatched.push_back(fmt::format("{}: {}", row.group, row.name));
  return unmatched;
}

// Of files of one schema.
std::vector<report::Warning> differences(const Comparable& baseline, const Comparable& other) {
  std::vector<report::Warning> warnings;
  const std::size_t conditions = std::min(baseline.conditions.size(), other.conditions.size());
  for (std::size_t i = 0; i < conditions; ++i) {
    const auto& [name, value] = baseline.conditions[i];
    const std::string& here = other.conditions[i].second;
    if (here == value) continue;
    warnings.push_back({name, fmt::format("{} in the baseline, {} in this file", value, here)});
  }
  constexpr double kSteady = 0.03;
  if (baseline.peak_gflops && other.peak_gflops) {
    const double ratio = *other.peak_gflops / *baseline.peak_gflops;
    if (std::max(ratio, 1 / ratio) > 1 + kSteady) {
      warnings.push_back({"clock", fmt::format("the FMA peak is {:.3g} GFLOP/s in the baseline and "
                                               "{:.3g} in this file, {:.2f} times as much",
                                               *baseline.peak_gflops, *other.peak_gflops, ratio)});
    }
  }
  return warnings;
}

std::optional<double> middle_ns(const std::vector<RunTimes>& runs) {
  std::vector<double> medians;
  for (const RunTimes& run : runs)
    if (run.median_ns) medians.push_back(*run.median_ns);
  if (medians.empty()) return std::nullopt;
  return median(std::move(medians));
}

std::size_t observations(const std::vector<RunTimes>& runs) {
  return runs.size() == 1 ? std::max<std::size_t>(1, runs.front().ns.size()) : runs.size();
}

report::ComparedRow record_of(const Match& match, const RowChange& change) {
  report::ComparedRow row;
  row.group = match.baseline->group;
  row.name = match.baseline->name;
  row.label = match.baseline->label;
  row.baseline_ns = middle_ns(match.baseline->runs);
  row.ns = middle_ns(match.other->runs);
  row.baseline_samples = observations(match.baseline->runs);
  row.samples = observations(match.other->runs);
  row.ratio = change.ratio;
  if (change.interval) {
    row.ratio_low = change.interval->low;
    row.ratio_high = change.interval->high;
  }
  row.p = change.p;
  row.p_holm = change.p_holm;
  if (change.beside_peak) {
    row.peak_ratio = change.beside_peak->ratio;
    row.peak_ratio_low = change.beside_peak->interval.low;
    row.peak_ratio_high = change.beside_peak->interval.high;
  }
  row.verdict = change.change;
  row.runs_needed = change.runs_needed;
  row.reason = change.reason;
  return row;
}

// What is held against the first.
struct Sides {
  std::vector<Comparable> all;
  bool several_runs = false;  // of each
  bool by_turns = false;
  std::optional<std::uint64_t> slice_ms;
  std::string stopped;
};

// What times, or exact counts, are asked of.
Result<void> keep_rows(Comparable& report, bool exact) {
  std::erase_if(report.rows, [exact](const ComparableRow& row) {
    return exact ? !row.exact_asked : row.runs.empty();
  });
  if (!exact || !report.rows.empty()) return {};
  return usage_error(fmt::format("{} has no exact counts", report.file.path),
                     "hwprof profile --exact and hwprof run --exact make such reports");
}

Result<std::vector<Comparable>> read_all(const std::vector<std::string>& paths,
                                         const CompareOptions& options) {
  std::vector<Comparable> reports;
  for (const std::string& path : paths) {
    TRY(Comparable one, read_comparable(path, options.accept_busy));
    TRY(keep_rows(one, options.exact.has_value()));
    const report::ComparedFile& first = reports.empty() ? one.file : reports.front().file;
    if (one.file.schema != first.schema) {
      return usage_error(fmt::format("{} is {} and {} is {}: they have no rows in common",
                                     first.path, first.schema, path, one.file.schema),
                         "compare reports of the same command of hwprof");
    }
    if (!reports.empty() && match(reports.front(), one).empty()) {
      return usage_error(
          fmt::format("{} and {} have no row in common, such as {} and {}", first.path, path,
                      reports.front().rows.front().label, one.rows.front().label),
          "compare reports on the same workload, shape and threads");
    }
    reports.push_back(std::move(one));
  }
  return reports;
}

Result<Sides> read_sides(const CompareOptions& options) {
  std::vector<std::string> paths = options.files;
  paths.insert(paths.end(), options.others.begin(), options.others.end());
  TRY(std::vector<Comparable> reports, read_all(paths, options));
  if (options.others.empty())
    return Sides{.all = std::move(reports), .slice_ms = {}, .stopped = {}};
  const auto begin = std::make_move_iterator(reports.begin());
  const auto middle = begin + static_cast<std::ptrdiff_t>(options.files.size());
  Sides sides{.all = {},
              .several_runs = options.files.size() > 1 && options.others.size() > 1,
              .slice_ms = {},
              .stopped = {}};
  sides.all.push_back(merge_runs({begin, middle}));
  sides.all.push_back(merge_runs({middle, std::make_move_iterator(reports.end())}));
  return sides;
}

Result<Sides> turn_sides(const TurnsOptions& options) {
  TRY(Turns turns, run_by_turns(options));
  Sides sides{.all = {},
              .several_runs = true,
              .by_turns = true,
              .slice_ms = options.slice_ms,
              .stopped = std::move(turns.stopped)};
  sides.all.push_back(std::move(turns.baseline));
  sides.all.push_back(std::move(turns.other));
  return sides;
}

report::Comparison compare_sides(const Sides& sides, double threshold) {
  // All rows of all files at once: the correction is for all that is asked.
  const Comparable& baseline = sides.all.front();
  std::vector<std::vector<Match>> matches;
  std::vector<RowRuns> pairs;
  for (std::size_t i = 1; i < sides.all.size(); ++i) {
    const Comparable& other = sides.all[i];
    const bool same_peak = !baseline.peak_of.empty() && baseline.peak_of == other.peak_of;
    matches.push_back(match(baseline, other));
    for (const Match& rows : matches.back())
      pairs.push_back({rows.baseline->runs, rows.other->runs, same_peak, sides.by_turns});
  }
  const std::vector<RowChange> changes = compare_rows(pairs, threshold);

  report::Comparison record;
  record.version = HWPROF_VERSION;
  record.threshold = threshold;
  record.by_turns = sides.by_turns;
  record.slice_ms = sides.slice_ms;
  record.stopped = sides.stopped;
  record.baseline = baseline.file;
  for (std::size_t i = 0, next = 0; i < matches.size(); ++i) {
    const Comparable& other = sides.all[i + 1];
    report::FileComparison& file = record.files.emplace_back();
    file.file = other.file;
    for (const Match& rows : matches[i]) file.rows.push_back(record_of(rows, changes[next++]));
    file.only_in_baseline = only_in(baseline, other);
    file.only_here = only_in(other, baseline);
    file.warnings = differences(baseline, other);
  }
  record.verdict = report::headline(record).text;
  return record;
}

report::ComparedRow counts_of(const Match& match, ExactBy what, double threshold) {
  report::ComparedRow row;
  row.group = match.baseline->group;
  row.name = match.baseline->name;
  row.label = match.baseline->label;
  for (const ComparableRow* side : {match.baseline, match.other})
    if (!side->exact && row.reason.empty()) row.reason = side->exact_reason;
  if (match.baseline->exact) row.baseline_count = match.baseline->exact->by(what);
  if (match.other->exact) row.count = match.other->exact->by(what);
  if (!row.baseline_count || !row.count) return row;
  if (*row.baseline_count > 0)
    row.ratio = static_cast<double>(*row.count) / static_cast<double>(*row.baseline_count);
  row.verdict = compare_counts(*row.baseline_count, *row.count, threshold);
  return row;
}

report::Comparison compare_exactly(const Sides& sides, ExactBy what, double threshold) {
  const Comparable& baseline = sides.all.front();
  report::Comparison record;
  record.version = HWPROF_VERSION;
  record.threshold = threshold;
  record.exact = what;
  record.baseline = baseline.file;
  for (std::size_t i = 1; i < sides.all.size(); ++i) {
    const Comparable& other = sides.all[i];
    report::FileComparison& file = record.files.emplace_back();
    file.file = other.file;
    for (const Match& rows : match(baseline, other))
      file.rows.push_back(counts_of(rows, what, threshold));
    file.only_in_baseline = only_in(baseline, other);
    file.only_here = only_in(other, baseline);
    file.warnings = differences(baseline, other);
    // Counts do not follow the clock.
    std::erase_if(file.warnings, [](const auto& warning) { return warning.code == "clock"; });
  }
  record.verdict = report::headline(record).text;
  return record;
}

bool some_row(const report::Comparison& record, std::initializer_list<Change> verdicts) {
  for (const report::FileComparison& file : record.files)
    for (const report::ComparedRow& row : file.rows)
      if (std::find(verdicts.begin(), verdicts.end(), row.verdict) != verdicts.end()) return true;
  return false;
}

Result<int> report_sides(const Sides& sides, const CompareOptions& options) {
  const double standard = sides.several_runs ? kThresholdOfRuns : kThresholdOfOneRun;
  const report::Comparison record =
      options.exact ? compare_exactly(sides, *options.exact, options.threshold.value_or(0))
                    : compare_sides(sides, options.threshold.value_or(standard));
  TRY(report::write_report(
      record, {report::comparison_document, report::comparison_json, report::comparison_csv},
      options.output));
  if (!record.stopped.empty()) return interrupt_exit_code();
  if (some_row(record, {Change::kSlower, Change::kMore})) return 1;
  constexpr int kUnknown = 3;
  const bool open = some_row(record, {Change::kUndecided, Change::kNotComparable});
  return options.strict && open ? kUnknown : 0;
}

Result<int> run_compare(const CompareOptions& options) {
  TRY(report::check_outputs(options.output));
  if (options.by_turns.empty()) {
    TRY(const Sides sides, read_sides(options));
    return report_sides(sides, options);
  }
  // One word may be a whole command line, as the baseline's is.
  const std::string other =
      options.others.size() == 1 ? options.others.front() : shell_command(options.others);
  TRY(const Sides sides, turn_sides({.baseline = options.by_turns,
                                     .other = other,
                                     .budget_s = options.budget_s,
                                     .runs = options.runs,
                                     .slice_ms = options.slice_ms}));
  return report_sides(sides, options);
}

Result<void> check_sides(const CompareOptions& options) {
  if (options.exact && !options.others.empty()) {
    return usage_error(
        "--exact compares one report a side",
        "counts are the same in every run: hwprof compare --exact WHAT A.json B.json");
  }
  if (options.by_turns.empty()) {
    if (options.files.size() + options.others.size() >= 2 && !options.files.empty()) return {};
    return usage_error("compare needs two reports or more",
                       "hwprof compare BASELINE.json FILE.json");
  }
  if (!options.files.empty()) {
    return usage_error(
        fmt::format("--by-turns runs commands and reads no file: '{}'", options.files.front()),
        "the other command stands behind dashes: --by-turns 'A' -- 'B'");
  }
  if (!options.others.empty()) return {};
  return usage_error("--by-turns needs a second command",
                     "hwprof compare --by-turns 'COMMAND A' -- 'COMMAND B'");
}

}  // namespace

Result<int> compare_by_turns(const TurnsOptions& turns, const Output& output) {
  CompareOptions options;
  options.output = output;
  TRY(const Sides sides, turn_sides(turns));
  return report_sides(sides, options);
}

cli::Action compare_command(cli::Options& options) {
  auto to = std::make_shared<CompareOptions>();
  options.words("files", "BASELINE... [FILE...] [-- FILE...]", to->files,
                "JSON reports of hwprof profile, run or sweep. The first one is the baseline, each "
                "other one is compared with it; with dashes those before are runs of the baseline, "
                "those behind of the other side.");
  options.group(cli::kWork);
  const auto by_turns = options.value(
      "--by-turns", "COMMAND", to->by_turns, cli::any_text,
      "Run this command and the one behind dashes by turns, through /bin/sh, and compare what "
      "their reports say; of a program that prints none, its times. Default: read files.");
  options
      .value("--runs", "N", to->runs, cli::whole(2, kMostTurns),
             "Run each N times. Default: as often as the time budget has room for, at least "
             "twice.")
      .needs(by_turns);
  options
      .value("--time-budget", "S", to->budget_s, cli::seconds(cli::kMaxSeconds),
             "Begin no pair that would end after S seconds. Default: 60.")
      .needs(by_turns);
  options
      .value(
          "--slice", "MS", to->slice_ms, cli::whole(1, kMostSliceMs),
          "Run both at once, each stopped while the other has its slice of so many milliseconds: "
          "10 shows differences that whole runs on a busy machine hide. For programs that may run "
          "side by side (files, ports, memory) and compute rather than wait. Default: whole runs.")
      .needs(by_turns);
  options
      .value("--exact", "WHAT", to->exact, cli::choice(kExactBy),
             "Compare what was executed instead of times, in reports made with --exact: "
             "instructions, flops or bytes. Counts are the same in every run, so each difference "
             "is one. Default: times.")
      .excludes(by_turns);
  options.value("--threshold", "SHARE", to->threshold, cli::parse_share,
                "Call a row slower or faster beyond this share of its time: 5%, 5 or 0.05; of "
                "exact counts more or fewer. Default: 5% with one run a side, 2% with several, 0 "
                "of exact counts.");
  options.flag("--accept-busy", to->accept_busy,
               "Judge rows that were measured beside other load as well. Default: do not.");
  options.flag("--strict", to->strict,
               "Exit with 3 where a row is undecided or not comparable. Default: with 0.");
  cli::output(options, to->output,
              {Format::kText, Format::kJson, Format::kCsv, Format::kMarkdown, Format::kHtml});
  options.footer(
      "hwprof --pin 0 --format json -o before.json\n"
      "hwprof compare before.json after.json\n"
      "hwprof compare before*.json -- after*.json        several runs a side\n"
      "hwprof compare --by-turns './sim_o2' -- './sim_o3'\n"
      "hwprof compare --exact instructions --threshold 1% before.json after.json\n"
      "\nExit codes: 0 no row is slower, or executes more, than the threshold allows,\n"
      "1 some row is, 2 wrong usage or input, 3 a command failed, or --strict and a row\n"
      "is open.");
  return [to](const cli::CommandLine& line) -> Result<int> {
    to->others = line.command;
    TRY(check_sides(*to));
    return run_compare(*to);
  };
}

}  // namespace hwprof
