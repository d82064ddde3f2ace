// A sweep for an issue or a pull request: the same sentences and cells as the text report.
#include <fmt/format.h>

#include "src/report/documents/sweep_content.h"
#include "src/report/render/markdown_parts.h"

namespace hwprof::report {

std::string sweep_markdown(const Sweep& sweep) {
  constexpr int kColumns = 80;
  std::string out = fmt::format("**{}**\n", markdown_escaped(sweep_headline(sweep).text));
  if (sweep.run.partial) out += "\n**PARTIAL: interrupted; points may be missing.**\n";
  out += fmt::format("\n{}: {}\n\n", markdown_escaped(run_line(sweep.run)),
                     markdown_escaped(command_line(sweep.run)));
  out += markdown_list(machine_fields(sweep.run)) + markdown_list(sweep_fields(sweep));
  out += markdown_table(laws_table(sweep));
  const std::vector<std::string> plot = sweep_plot(sweep, kColumns);
  if (!plot.empty()) out += "\n```\n";
  for (const std::string& line : plot) out += line + "\n";
  if (!plot.empty()) out += "```\n";
  out += markdown_table(points_table(sweep)) + markdown_table(sweep_counters_table(sweep));
  if (!sweep.run.warnings.empty()) out += "\n## Warnings\n\n";
  for (const Warning& warning : sweep.run.warnings)
    out +=
        fmt::format("- {}: {}\n", markdown_escaped(warning.code), markdown_escaped(warning.text));
  return out;
}

}  // namespace hwprof::report
