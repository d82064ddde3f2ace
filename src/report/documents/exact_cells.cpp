#include "src/report/documents/exact_cells.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "src/base/format.h"
#include "src/report/documents/content.h"

namespace hwprof::report {
namespace {

double share_of_whole(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::string exact_ratio_text(double ratio) {
  const std::string text = fmt::format("{:.3f}", ratio);
  return text == "1.000" && ratio != 1 ? fmt::format("{:.6f}", ratio) : text;
}

std::string exact_widths_text(const model::FlopsByWidth& widths, std::uint64_t flops) {
  std::vector<std::pair<std::string, std::uint64_t>> sorted(widths.begin(), widths.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> parts;
  for (const auto& [width, part] : sorted) {
    parts.push_back(fmt::format("{} {} %", width == "scalar" ? width : width + " bit",
                                significant(100 * share_of_whole(part, flops), 3)));
  }
  return parts.empty() ? std::string(kAbsent) : fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<TableRow> exact_function_rows(const std::string& group, const ExactCount& count) {
  constexpr double kLeast = 0.01;
  std::vector<TableRow> rows;
  for (const ExactFunction& function : count.by_function) {
    const double share = share_of_whole(function.flops, count.flops);
    if (share < kLeast && share_of_whole(function.instructions, count.instructions) < kLeast)
      continue;
    rows.push_back(
        {group,
         {symbol_cell(function.name), significant(100 * share, 3),
          exact_widths_text(function.flops_by_width, function.flops),
          si(static_cast<double>(function.instructions), ""),
          si(static_cast<double>(function.bytes_loaded), "B"),
          si(static_cast<double>(function.bytes_stored), "B"), file_name(function.library)}});
  }
  return rows;
}

}  // namespace hwprof::report
