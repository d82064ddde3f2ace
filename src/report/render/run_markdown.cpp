// The same sentences and cells as the text report, for an issue or a pull request.
#include <fmt/format.h>

#include "src/report/documents/regions.h"
#include "src/report/documents/run_content.h"
#include "src/report/render/markdown_parts.h"
#include "src/report/render/run_writers.h"

namespace hwprof::report {

std::string run_markdown(const Run& run) {
  std::string out;
  for (const Headline& head : run_headlines(run)) {
    out += fmt::format("**{}**\n\n", markdown_escaped(head.text));
  }
  out += fmt::format("{}: {}\n\n", markdown_escaped(run_line(run)),
                     markdown_escaped(command_line(run)));
  out += markdown_list(run_fields(run));
  if (run.repeats)
    out +=
        markdown_table(repeats_table(*run.repeats)) + markdown_table(outliers_table(*run.repeats));
  out += markdown_table(run_counters_table(run)) + markdown_table(regions_table(run.regions));
  const BlasEvidence& evidence = run.blas.evidence;
  out += "\n## Evidence on the BLAS, level by level\n\n" +
         markdown_list(evidence_fields(evidence)) + markdown_table(calls_table(evidence.called)) +
         markdown_table(libraries_table(evidence.executed)) +
         markdown_table(symbols_table(evidence.executed)) +
         markdown_table(lines_table(evidence.executed)) +
         markdown_table(ladder_table(run.blas.ladder, run.blas.ladder_note));
  if (!run.warnings.empty()) out += "\n## Warnings\n\n";
  for (const Warning& warning : run.warnings) {
    out +=
        fmt::format("- {}: {}\n", markdown_escaped(warning.code), markdown_escaped(warning.text));
  }
  return out;
}

}  // namespace hwprof::report
