// What --try-fix and --try found: a sentence, the line for the job script, a row a setting.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/format.h"
#include "src/report/documents/content.h"
#include "src/report/documents/reasons.h"

namespace hwprof::report {
namespace {

std::string ratio_cell(const std::vector<double>& ratio) {
  if (ratio.size() != 3) return std::string(kAbsent);
  return with_bounds(ratio[1], ratio[0], ratio[2]);
}

std::string output_cell(const TriedSetting& setting) {
  if (!setting.same_output) return std::string(kAbsent);
  return *setting.same_output ? "the same" : "changed";
}

void add_setting(const TriedSetting& setting, Table& table, Reasons& reasons) {
  table.rows.push_back(
      {"",
       {setting.tried, fmt::format("{}", setting.rounds), ratio_cell(setting.wall_ratio),
        ratio_cell(setting.cpu_ratio), output_cell(setting)}});
  if (!setting.ratio_reason.empty()) reasons.add(setting.ratio_reason, setting.tried + " (ratio)");
  if (!setting.output_reason.empty())
    reasons.add(setting.output_reason, setting.tried + " (output)");
  if (!setting.stopped.empty()) reasons.add(setting.stopped, setting.tried);
}

}  // namespace

std::vector<Headline> fix_headlines(const Fix& fix) {
  if (!fix.worth_it) return {{sentence(fix.result), true}};
  return {{sentence(fix.result) + " The line for the job script:", true},
          {"", false, fix.job_line}};
}

Table fix_table(const Fix& fix) {
  Table table{.title = "The program with another environment, over as it is",
              .columns = {{"setting", true}, {"rounds"}, {"wall time"}, {"CPU time"}, {"output"}},
              .rows = {},
              .notes = {}};
  if (fix.tried.empty()) return table;
  Reasons reasons;
  add_setting(fix, table, reasons);
  for (const TriedSetting& other : fix.others) add_setting(other, table, reasons);
  if (!fix.stopped_rounds.empty())
    table.notes.push_back(fmt::format("The rounds ended early: {}.", fix.stopped_rounds));
  append(table.notes, fix.notes);
  append(table.notes, reasons.sentences());
  table.brief = table.notes;
  return table;
}

}  // namespace hwprof::report
