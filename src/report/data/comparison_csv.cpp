// One line a row of each file that was compared.
#include <fmt/format.h>

#include "src/report/data/csv_parts.h"
#include "src/report/data/writers.h"
#include "src/report/documents/content.h"

namespace hwprof::report {
namespace {

csv::Cells cells_of(const Comparison& comparison, const std::string& path, const ComparedRow& row) {
  return {{"baseline", comparison.baseline.path},
          {"file", path},
          {"group", row.group},
          {"name", row.name},
          {"verdict", row.verdict},
          {"ratio", csv::number(row.ratio)},
          {"ratio_low", csv::number(row.ratio_low)},
          {"ratio_high", csv::number(row.ratio_high)},
          {"p", csv::number(row.p)},
          {"p_holm", csv::number(row.p_holm)},
          {"baseline_ns", csv::number(row.baseline_ns)},
          {"ns", csv::number(row.ns)},
          {"baseline_samples", fmt::format("{}", row.baseline_samples)},
          {"samples", fmt::format("{}", row.samples)},
          {"peak_ratio", csv::number(row.peak_ratio)},
          {"peak_ratio_low", csv::number(row.peak_ratio_low)},
          {"peak_ratio_high", csv::number(row.peak_ratio_high)},
          {"threshold", csv::number(comparison.threshold)},
          {"reason", row.reason}};
}

// A row without a counterpart.
ComparedRow lonely(const std::string& name, const char* verdict) {
  ComparedRow row;
  row.name = name;
  row.verdict = verdict;
  return row;
}

}  // namespace

std::string comparison_csv(const Comparison& comparison) {
  std::string out = csv::line_of(cells_of(comparison, "", {}), true);
  for (const FileComparison& file : comparison.files) {
    const auto add = [&](const ComparedRow& row) {
      out += csv::line_of(cells_of(comparison, file.file.path, row), false);
    };
    for (const ComparedRow& row : file.rows) add(row);
    for (const std::string& row : file.only_in_baseline) add(lonely(row, "only-in-baseline"));
    for (const std::string& row : file.only_here) add(lonely(row, "only-here"));
  }
  return out;
}

}  // namespace hwprof::report
