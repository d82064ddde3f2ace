// What --exact counted: a line a row, and beside it, in full, the functions that executed it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "src/base/format.h"
#include "src/model/exact_point.h"
#include "src/report/documents/content.h"
#include "src/report/documents/exact_cells.h"
#include "src/report/documents/reasons.h"

namespace hwprof::report {
namespace {

constexpr bool kOnlyInFull = true;

}  // namespace

Table exact_table(const std::string& title, const std::string& list,
                  const std::vector<const Row*>& rows) {
  Table table{.title = title,
              .columns = {{"variant", true},
                          {"FLOP"},
                          {"exact/\nmodel"},
                          {"instruc-\ntions"},
                          {"loaded"},
                          {"stored"},
                          {"FLOP/\nbyte", false, kOnlyInFull},
                          {"GFLOP/s", false, kOnlyInFull},
                          {"lanes\noff", false, kOnlyInFull},
                          {"FLOP by vector width", true}},
              .rows = {},
              .notes = {}};
  Reasons excess, absent;
  bool any = false, threads = false, stepped = false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = *rows[i];
    if (!row.exact) continue;
    const std::string name = name_of(row);
    if (!row.exact->count) {
      absent.add(given(row.exact->reason), name);
      continue;
    }
    any = true;
    threads = threads || row.threads > 1;
    stepped = stepped || row.exact->stepped;
    const ExactCount& count = *row.exact->count;
    const auto number = [](std::uint64_t value) { return si(static_cast<double>(value), ""); };
    const auto three = [](const std::optional<double>& value) {
      return value ? significant(*value, 3) : std::string(kAbsent);
    };
    table.rows.push_back(
        {group_of(row),
         {row.variant, number(count.flops),
          row.exact->to_model ? exact_ratio_text(*row.exact->to_model) : std::string(kAbsent),
          number(count.instructions), si(static_cast<double>(count.bytes_loaded), "B"),
          si(static_cast<double>(count.bytes_stored), "B"), three(exact_intensity(row)),
          three(exact_gflops(row)), number(count.masked_lanes_off),
          exact_widths_text(count.flops_by_width, count.flops)},
         fmt::format("/{}/{}/exact", list, i)});
    for (const std::string& sentence : row.exact->excess) excess.add(sentence, name);
  }
  if (any) {
    table.notes.push_back(
        "Each instruction of one call, counted apart from the timing; the same in every run "
        "(docs/exact.md says what counts as what). Loaded, stored: by instructions, from "
        "wherever.");
  }
  if (stepped) {
    table.notes.push_back(
        "Counted twice: in a copy of the code, and by a trap at each instruction of the code "
        "itself (--engine steps). Both were equal in every field.");
  }
  if (threads) {
    table.notes.push_back(
        "Of several threads one did the work of all, and a BLAS computed on one: only one can be "
        "counted.");
  }
  append(table.notes, excess.sentences());
  append(table.notes, absent.sentences());
  table.brief = table.notes;
  if (any) {
    table.notes.push_back(
        "FLOP/byte, GFLOP/s: FLOP executed, over the bytes loaded and stored, and over the time of "
        "the row, which is apart from the count. Most of these bytes come from L1, so its "
        "bandwidth bounds such a row, not memory's.");
  }
  return table;
}

Table exact_functions_table(const std::vector<Row>& rows) {
  Table table{.title = "Executed by function (a call)",
              .columns = exact_function_columns(),
              .rows = {},
              .notes = {}};
  for (const Row& row : rows) {
    if (!row.exact || !row.exact->count) continue;
    const ExactCount& count = *row.exact->count;
    const std::string group =
        fmt::format("{}  {}, {}", name_of(row), shape_of(row),
                    counted(static_cast<std::uint64_t>(row.threads), "thread"));
    for (TableRow& line : exact_function_rows(group, count)) table.rows.push_back(std::move(line));
  }
  if (!table.rows.empty()) table.notes.emplace_back(kExactFunctionsNote);
  return table;
}

}  // namespace hwprof::report
