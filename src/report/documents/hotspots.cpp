// Where the CPU time went, by samples: by file, symbol and source line.
#include <fmt/format.h>

#include "src/base/format.h"
#include "src/base/text.h"
#include "src/report/documents/content.h"
#include "src/report/printable.h"

namespace hwprof::report {
namespace {

constexpr std::size_t kMostSpots = 12;      // in lines of text
constexpr std::size_t kLongestSymbol = 48;  // names of C++ templates have hundreds of characters

Table share_table(std::string title, std::string name, const std::vector<SampleShare>& shares,
                  bool with_library) {
  Table table{.title = std::move(title),
              .columns = {{std::move(name), true}, {"% of\nCPU time"}, {"samples"}},
              .rows = {},
              .notes = {},
              .most_rows = kMostSpots};
  if (with_library) table.columns.push_back({"file", true});
  for (const SampleShare& share : shares) {
    TableRow row{"",
                 {with_library ? symbol_cell(share.name) : file_name(share.name),
                  significant(100 * share.fraction, 3), fmt::format("{}", share.samples)}};
    if (with_library) row.cells.push_back(file_name(share.library));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

std::string symbol_cell(const std::string& symbol) {
  if (symbol.empty()) return "(no symbol)";
  if (display_width(symbol) <= static_cast<int>(kLongestSymbol)) return symbol;
  return printable(symbol).substr(0, kLongestSymbol - 3) + "...";
}

Table files_table(const Executed& executed) {
  return share_table("CPU time by file", "file", executed.by_library, false);
}

Table symbols_table(const Executed& executed) {
  return share_table("CPU time by symbol", "symbol", executed.by_symbol, true);
}

Table lines_table(const Executed& executed) {
  Table table{.title = "CPU time by innermost source line",
              .columns = {{"line", true}, {"% of\nCPU time"}, {"samples"}, {"in", true}},
              .rows = {},
              .notes = {},
              .most_rows = kMostSpots};
  for (const HotLine& line : executed.lines) {
    table.rows.push_back(
        {"",
         {fmt::format("{}:{}", line.file, line.line), significant(100 * line.fraction, 3),
          fmt::format("{}", line.samples), symbol_cell(line.symbol)}});
  }
  return table;
}

}  // namespace hwprof::report
