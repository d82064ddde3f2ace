#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "src/cli/groups.h"
#include "src/cli/values.h"
#include "src/commands/commands.h"
#include "src/commands/compare/comparable.h"
#include "src/report/data/writers.h"
#include "src/report/documents/content.h"
#include "src/report/documents/documents.h"
#include "src/report/render/write_report.h"

namespace hwprof {
namespace {

struct CompareOptions {
  std::vector<std::string> files;  // the first one is the baseline
  double threshold = 0.05;
  Output output;
};

// The rows of the baseline that `other` has, too.
struct Match {
  const ComparableRow *baseline, *other;
};

const ComparableRow* find(const Comparable& in, const ComparableRow& row) {
  const auto found =
      std::find_if(in.rows.begin(), in.rows.end(), [&row](const ComparableRow& candidate) {
        return candidate.group == row.group && candidate.name == row.name;
      });
  return found == in.rows.end() ? nullptr : &*found;
}

std::vector<Match> match(const Comparable& baseline, const Comparable& other) {
  std::vector<Match> matches;
  for (const ComparableRow& row : baseline.rows)
    if (const ComparableRow* same = find(other, row)) matches.push_back({&row, same});
  return matches;
}

std::vector<std::string> only_in(const Comparable& one, const Comparable& other) {
  std::vector<std::string> unmatched;
  for (const ComparableRow& row : one.rows)
    if (find(other, row) == nullptr)
      unmatched.push_back(fmt::format("{}: {}", row.group, row.name));
  return unmatched;
}

// Of files of one schema.
std::vector<report::Warning> differences(const Comparable& baseline, const Comparable& other) {
  std::vector<report::Warning> warnings;
  for (std::size_t i = 0; i < baseline.conditions.size(); ++i) {
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

report::ComparedRow record_of(const Match& match, const RowChange& change) {
  report::ComparedRow row;
  row.group = match.baseline->group;
  row.name = match.baseline->name;
  row.label = match.baseline->label;
  row.baseline_ns = match.baseline->time.median_ns;
  row.ns = match.other->time.median_ns;
  row.baseline_samples = match.baseline->time.ns.size();
  row.samples = match.other->time.ns.size();
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
  row.reason = change.reason;
  return row;
}

Result<std::vector<Comparable>> read_all(const std::vector<std::string>& paths) {
  std::vector<Comparable> reports;
  for (const std::string& path : paths) {
    TRY(Comparable one, read_comparable(path));
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
          "compare reports on the same workload, shape, threads or command");
    }
    reports.push_back(std::move(one));
  }
  return reports;
}

Result<int> run_compare(const CompareOptions& options) {
  // 1. What the files hold.
  TRY(report::check_outputs({options.output.file}));
  TRY(const std::vector<Comparable> reports, read_all(options.files));
  const Comparable& baseline = reports.front();

  // 2. All rows of all files at once: the correction is for all that is asked.
  std::vector<std::vector<Match>> matches;
  std::vector<SamplePair> pairs;
  for (std::size_t i = 1; i < reports.size(); ++i) {
    const Comparable& other = reports[i];
    const bool same_peak = !baseline.peak_of.empty() && baseline.peak_of == other.peak_of;
    matches.push_back(match(baseline, other));
    for (const Match& rows : matches.back())
      pairs.push_back({rows.baseline->time, rows.other->time, same_peak});
  }
  const std::vector<RowChange> changes = compare_rows(pairs, options.threshold);

  // 3. The record.
  report::Comparison record;
  record.version = HWPROF_VERSION;
  record.threshold = options.threshold;
  record.baseline = baseline.file;
  bool slower = false;
  for (std::size_t i = 0, next = 0; i < matches.size(); ++i) {
    const Comparable& other = reports[i + 1];
    report::FileComparison& file = record.files.emplace_back();
    file.file = other.file;
    for (const Match& rows : matches[i]) {
      slower = slower || changes[next].change == Change::kSlower;
      file.rows.push_back(record_of(rows, changes[next++]));
    }
    file.only_in_baseline = only_in(baseline, other);
    file.only_here = only_in(other, baseline);
    file.warnings = differences(baseline, other);
  }
  record.verdict = report::headline(record).text;
  TRY(report::write_report(
      record, {report::comparison_document, report::comparison_json, report::comparison_csv},
      options.output));
  return slower ? 1 : 0;
}

}  // namespace

cli::Action compare_command(cli::Options& options) {
  auto to = std::make_shared<CompareOptions>();
  options.words("files", "BASELINE FILE...", to->files,
                "JSON reports of hwprof profile, run or sweep; the first one is the baseline, each "
                "other one is compared with it.");
  options.group(cli::kWork);
  options.value("--threshold", "SHARE", to->threshold, cli::parse_share,
                "Call a row slower or faster beyond this share of its time: 5%, 5 or 0.05. "
                "Default: 5%.");
  cli::output(options, to->output, {Format::kText, Format::kJson, Format::kCsv, Format::kMarkdown});
  options.footer(
      "hwprof --pin 0 --format json -o before.json\n"
      "hwprof compare before.json after.json\n"
      "\nExit codes: 0 no row is slower by more than the threshold, 1 some row is,\n"
      "2 wrong usage or input.");
  options.check([to]() -> Result<void> {
    if (to->files.size() >= 2) return {};
    return usage_error("compare needs two reports or more",
                       "hwprof compare BASELINE.json FILE.json");
  });
  return [to](const cli::CommandLine&) { return run_compare(*to); };
}

}  // namespace hwprof
