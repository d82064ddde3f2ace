// GitHub's markdown: the same sentences and cells as the full text report.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "src/report/printable.h"
#include "src/report/render/render.h"

namespace hwprof::report {
namespace {

constexpr int kPlotColumns = 80;

// A backslash before punctuation is text in GitHub's markdown, whatever the punctuation means.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (std::string_view("\\`*_{}[]<>#|~&$@").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string cells(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string heading(const std::string& title) {
  return title.empty() ? "" : fmt::format("## {}\n\n", escaped(title));
}

std::string rendered(const Headline& head) {
  return fmt::format("**{}**\n", escaped(words_of(head)));
}

std::string rendered(const Paragraph& text) {
  const std::string_view before = text.kind == Paragraph::Kind::kCommand ? "$ "
                                  : text.kind == Paragraph::Kind::kFix   ? "fix: "
                                                                         : "";
  const std::string words = escaped(fmt::format("{}{}", before, text.text));
  return text.kind == Paragraph::Kind::kAlert ? "**" + words + "**\n" : words + "\n";
}

std::string rendered(const Fields& fields) {
  std::string out = heading(fields.title);
  for (const Field& field : fields.rows) {
    out += fmt::format("- **{}**: {}\n", escaped(field.label), escaped(field.text));
    for (const std::string& text : field.more) out += fmt::format("  - {}\n", escaped(text));
  }
  return fields.rows.empty() ? "" : out;
}

std::string rendered(const Table& table) {
  if (table.rows.empty() && table.notes.empty()) return "";
  std::string out = heading(table.title);
  if (!table.rows.empty()) {
    const bool grouped = !table.rows.front().group.empty();
    std::vector<std::string> titles, rules;
    if (grouped) titles.emplace_back("operation"), rules.emplace_back(":--");
    for (const Column& column : table.columns) {
      titles.push_back(escaped(one_line(column.title)));
      rules.emplace_back(column.left ? ":--" : "--:");
    }
    out += cells(titles) + cells(rules);
    for (const TableRow& row : table.rows) {
      std::vector<std::string> line;
      if (grouped) line.push_back(escaped(row.group));
      for (const std::string& cell : row.cells) line.push_back(escaped(cell));
      out += cells(line);
    }
    if (!table.notes.empty()) out += "\n";
  }
  for (const std::string& note : table.notes) out += fmt::format("- {}\n", escaped(note));
  return out;
}

std::string rendered(const Plot& plot) {
  if (plot.series.empty()) return "";
  return fmt::format("```\n{}\n```\n", fmt::join(plot_lines(plot, kPlotColumns), "\n"));
}

std::string rendered(const Chart&) { return ""; }  // for_lines() has left it out

}  // namespace

std::string as_markdown(const Document& document) {
  std::string out;
  for (const Block& block : for_lines(document).blocks) {
    if (block.detail == Detail::kBrief) continue;
    const std::string text =
        std::visit([](const auto& content) { return rendered(content); }, block.content);
    if (!out.empty() && !text.empty()) out += "\n";
    out += text;
  }
  return out;
}

}  // namespace hwprof::report
