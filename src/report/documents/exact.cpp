// What --exact counted: a line a row, and beside it, in full, the functions that executed it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "src/base/format.h"
#include "src/report/documents/content.h"
#include "src/report/documents/reasons.h"

namespace hwprof::report {
namespace {

constexpr bool kFull = true;  // a column that the brief form leaves out

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// "1.000": to three digits behind the point, and a difference that they would hide is not hidden.
std::string ratio_text(double ratio) {
  const std::string text = fmt::format("{:.3f}", ratio);
  return text == "1.000" && ratio != 1 ? fmt::format("{:.6f}", ratio) : text;
}

// "99.2 %"; what is not all of it is not rounded to that, nor what is there to nothing.
std::string share_text(std::uint64_t part, std::uint64_t whole) {
  const std::string text = fmt::format("{:.1f} %", 100 * share_of(part, whole));
  if (text == "100.0 %") return part == whole ? "100 %" : "> 99.9 %";
  return text == "0.0 %" && part > 0 ? "< 0.1 %" : text;
}

// "256 bit 99.2 %, scalar 0.8 %": largest share first.
std::string widths_text(const model::FlopsByWidth& widths, std::uint64_t flops) {
  std::vector<std::pair<std::string, std::uint64_t>> sorted(widths.begin(), widths.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> parts;
  for (const auto& [width, part] : sorted) {
    parts.push_back(
        fmt::format("{} {}", width == "scalar" ? width : width + " bit", share_text(part, flops)));
  }
  return parts.empty() ? std::string(kAbsent) : fmt::format("{}", fmt::join(parts, ", "));
}

// Of a C++ function its name alone: without what it returns, and its parameters.
std::string function_cell(const std::string& symbol) {
  std::size_t begin = 0, end = symbol.size();
  int depth = 0;
  for (std::size_t i = 0; i < symbol.size(); ++i) {
    if (symbol[i] == '<') ++depth;
    if (symbol[i] == '>') --depth;
    if (depth != 0) continue;
    if (symbol[i] == ' ') begin = i + 1;
    if (symbol[i] == '(' && symbol.compare(i, 3, "(an") != 0) {  // an anonymous namespace
      end = i;
      break;
    }
  }
  return symbol_cell(begin < end ? symbol.substr(begin, end - begin) : symbol);
}

// Those that executed a hundredth of the FLOP, or of the instructions, at least.
std::vector<const ExactFunction*> worth_a_line(const ExactCount& count) {
  constexpr double kLeast = 0.01;
  std::vector<const ExactFunction*> found;
  for (const ExactFunction& function : count.by_function) {
    if (share_of(function.flops, count.flops) >= kLeast ||
        share_of(function.instructions, count.instructions) >= kLeast)
      found.push_back(&function);
  }
  return found;
}

}  // namespace

Table exact_table(const std::string& title, const std::vector<const Row*>& rows) {
  Table table{.title = title,
              .columns = {{"variant", true},
                          {"FLOP"},
                          {"exact/\nmodel"},
                          {"instruc-\ntions"},
                          {"loaded"},
                          {"stored"},
                          {"lanes\noff", false, kFull},
                          {"FLOP by vector width", true}},
              .rows = {},
              .notes = {}};
  Reasons excess, absent;
  bool any = false, threads = false;
  for (const Row* each : rows) {
    const Row& row = *each;
    if (!row.exact) continue;
    const std::string name = name_of(row);
    if (!row.exact->count) {
      absent.add(given(row.exact->reason), name);
      continue;
    }
    any = true;
    threads = threads || row.threads > 1;
    const ExactCount& count = *row.exact->count;
    const auto number = [](std::uint64_t value) { return si(static_cast<double>(value), ""); };
    table.rows.push_back(
        {group_of(row),
         {row.variant, number(count.flops),
          row.exact->to_model ? ratio_text(*row.exact->to_model) : std::string(kAbsent),
          number(count.instructions), si(static_cast<double>(count.bytes_loaded), "B"),
          si(static_cast<double>(count.bytes_stored), "B"), number(count.masked_lanes_off),
          widths_text(count.flops_by_width, count.flops)}});
    for (const std::string& sentence : row.exact->excess) excess.add(sentence, name);
  }
  if (any) {
    table.notes.push_back(
        "Each instruction of one call, counted apart from the timing; the same in every run "
        "(docs/exact.md says what counts as what). Loaded, stored: by instructions, from "
        "wherever.");
  }
  if (threads) {
    table.notes.push_back(
        "Of several threads one did the work of all, and a BLAS computed on one: only one can be "
        "counted.");
  }
  append(table.notes, excess.sentences());
  append(table.notes, absent.sentences());
  table.brief = table.notes;
  return table;
}

Table exact_functions_table(const std::vector<Row>& rows) {
  Table table{.title = "Executed by function (a call)",
              .columns = {{"function", true},
                          {"share of\nFLOP"},
                          {"instruc-\ntions"},
                          {"library", true},
                          {"FLOP by vector width", true}},
              .rows = {},
              .notes = {}};
  for (const Row& row : rows) {
    if (!row.exact || !row.exact->count) continue;
    const ExactCount& count = *row.exact->count;
    for (const ExactFunction* function : worth_a_line(count)) {
      table.rows.push_back(
          {fmt::format("{}  {}, {}", name_of(row), shape_of(row),
                       counted(static_cast<std::uint64_t>(row.threads), "thread")),
           {function_cell(function->name),
            function->flops == 0 ? std::string(kAbsent) : share_text(function->flops, count.flops),
            si(static_cast<double>(function->instructions), ""), file_name(function->library),
            widths_text(function->flops_by_width, function->flops)}});
    }
  }
  if (!table.rows.empty())
    table.notes.push_back(
        "Functions with at least 1 % of the FLOP or of the instructions of a call, without those "
        "that they call.");
  return table;
}

}  // namespace hwprof::report
