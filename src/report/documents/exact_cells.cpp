#include "src/report/documents/exact_cells.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "src/base/format.h"
#include "src/report/documents/content.h"

namespace hwprof::report {
namespace {

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::string exact_ratio_text(double ratio) {
  const std::string text = fmt::format("{:.3f}", ratio);
  return text == "1.000" && ratio != 1 ? fmt::format("{:.6f}", ratio) : text;
}

std::string exact_share_text(std::uint64_t part, std::uint64_t whole) {
  const std::string text = fmt::format("{:.1f} %", 100 * share_of(part, whole));
  if (text == "100.0 %") return part == whole ? "100 %" : "> 99.9 %";
  return text == "0.0 %" && part > 0 ? "< 0.1 %" : text;
}

std::string exact_widths_text(const model::FlopsByWidth& widths, std::uint64_t flops) {
  std::vector<std::pair<std::string, std::uint64_t>> sorted(widths.begin(), widths.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> parts;
  for (const auto& [width, part] : sorted) {
    parts.push_back(fmt::format("{} {}", width == "scalar" ? width : width + " bit",
                                exact_share_text(part, flops)));
  }
  return parts.empty() ? std::string(kAbsent) : fmt::format("{}", fmt::join(parts, ", "));
}

std::string exact_function_cell(const std::string& symbol) {
  std::size_t begin = 0, end = symbol.size();
  constexpr std::string_view kUnnamed = "(anonymous namespace)";
  int depth = 0;
  for (std::size_t i = 0; i < symbol.size(); ++i) {
    if (symbol.compare(i, kUnnamed.size(), kUnnamed) == 0) i += kUnnamed.size();
    if (symbol[i] == '<') ++depth;
    if (symbol[i] == '>') --depth;
    if (depth != 0) continue;
    if (symbol[i] == ' ') begin = i + 1;
    if (symbol[i] == '(') {
      end = i;
      break;
    }
  }
  return symbol_cell(begin < end ? symbol.substr(begin, end - begin) : symbol);
}

std::vector<Column> exact_function_columns() {
  return {{"function", true},
          {"share of\nFLOP"},
          {"instruc-\ntions"},
          {"library", true},
          {"FLOP by vector width", true}};
}

std::vector<TableRow> exact_function_rows(const std::string& group, const ExactCount& count) {
  constexpr double kLeast = 0.01;
  std::vector<TableRow> rows;
  for (const ExactFunction& function : count.by_function) {
    if (share_of(function.flops, count.flops) < kLeast &&
        share_of(function.instructions, count.instructions) < kLeast)
      continue;
    rows.push_back(
        {group,
         {exact_function_cell(function.name),
          function.flops == 0 ? std::string(kAbsent)
                              : exact_share_text(function.flops, count.flops),
          si(static_cast<double>(function.instructions), ""), file_name(function.library),
          exact_widths_text(function.flops_by_width, function.flops)}});
  }
  return rows;
}

}  // namespace hwprof::report
