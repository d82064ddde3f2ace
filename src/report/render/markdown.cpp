// GitHub tables, for an issue or a pull request: the same sentences and cells as the text report.
#include <fmt/format.h>

#include <algorithm>

#include "src/report/documents/content.h"
#include "src/report/documents/regions.h"
#include "src/report/render/markdown_parts.h"
#include "src/report/render/printable.h"
#include "src/report/render/writers.h"

namespace hwprof::report {
namespace {

std::string cells(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += fmt::format(" {} |", cell);
  return line + "\n";
}

}  // namespace

// A backslash before punctuation is text in GitHub's markdown, whatever the punctuation means.
std::string markdown_escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (std::string_view("\\`*_{}[]<>#|~&$@").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string markdown_table(const Table& table) {
  if (table.rows.empty() && table.notes.empty()) return "";
  std::string out = fmt::format("\n## {}\n\n", markdown_escaped(table.title));
  if (!table.rows.empty()) {
    const bool grouped = !table.rows.front().group.empty();
    std::vector<std::string> titles, rules;
    if (grouped) titles.emplace_back("operation"), rules.emplace_back(":--");
    for (const Column& column : table.columns) {
      std::string title = column.title;
      if (const auto at = title.find("/\n"); at != title.npos) title.erase(at + 1, 1);
      std::replace(title.begin(), title.end(), '\n', ' ');
      titles.push_back(markdown_escaped(title));
      rules.emplace_back(column.left ? ":--" : "--:");
    }
    out += cells(titles) + cells(rules);
    for (const TableRow& row : table.rows) {
      std::vector<std::string> line;
      if (grouped) line.push_back(markdown_escaped(row.group));
      for (const std::string& cell : row.cells) line.push_back(markdown_escaped(cell));
      out += cells(line);
    }
    if (!table.notes.empty()) out += "\n";
  }
  for (const std::string& note : table.notes) out += fmt::format("- {}\n", markdown_escaped(note));
  return out;
}

std::string markdown_list(const std::vector<Field>& fields) {
  std::string out;
  for (const Field& field : fields) {
    out += fmt::format("- **{}**: {}\n", field.label, markdown_escaped(field.text));
  }
  return out;
}

std::string profile_markdown(const Profile& profile) {
  std::string out = fmt::format("**{}**\n", markdown_escaped(headline(profile).text));
  if (profile.partial) out += "\n**PARTIAL: interrupted; rows may be missing.**\n";
  out += fmt::format("\n{}: {}\n\n", markdown_escaped(run_line(profile)),
                     markdown_escaped(command_line(profile)));
  out += markdown_list(machine_fields(profile)) + markdown_list(workload_fields(profile));
  if (profile.training) {
    out += markdown_table(epochs_table(*profile.training)) +
           markdown_table(phases_table(*profile.training));
  }
  out += markdown_table(operations_table(profile)) + markdown_table(repeats_table(profile)) +
         markdown_table(counters_table(profile));
  for (const Table& table : layers_tables(profile)) out += markdown_table(table);
  out += markdown_table(passes_table(profile)) +
         (profile.scaling ? markdown_table(scaling_table(*profile.scaling)) : "") +
         markdown_table(complexity_table(profile.complexity)) +
         markdown_table(regions_table(profile.regions)) +
         markdown_table(overhead_table(profile.regions));
  out += "\n## BLAS\n\n" + markdown_list(blas_fields(profile.blas)) +
         markdown_table(ladder_table(profile.blas));
  if (!profile.warnings.empty()) out += "\n## Warnings\n\n";
  for (const Warning& warning : profile.warnings) {
    out +=
        fmt::format("- {}: {}\n", markdown_escaped(warning.code), markdown_escaped(warning.text));
  }
  return out;
}

}  // namespace hwprof::report
