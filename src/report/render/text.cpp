// What a user reads in a terminal: the most important truth first, then what was measured and on
// what, then the evidence, each number with its unit and each gap with its reason.
#include <fmt/format.h>

#include "src/report/documents/content.h"
#include "src/report/documents/regions.h"
#include "src/report/render/page.h"
#include "src/report/render/writers.h"

namespace hwprof::report {

std::string profile_text(const Profile& profile, const TextStyle& style) {
  Page page(style);
  const Headline head = headline(profile);
  page.paragraph(head.text, 0, 0, head.good ? Tone::kGood : Tone::kBad);
  if (profile.partial) {
    page.paragraph("PARTIAL: interrupted; only what was measured until then is shown.", 0, 0,
                   Tone::kBad);
  }

  page.blank();
  page.paragraph(run_line(profile));
  page.paragraph("$ " + command_line(profile), 0, 2);
  page.blank();
  page.fields(machine_fields(profile));
  page.blank();
  page.fields(workload_fields(profile));

  if (profile.training) {
    page.table(epochs_table(*profile.training));
    page.table(phases_table(*profile.training));
  }
  page.table(operations_table(profile));
  page.table(repeats_table(profile));
  page.table(counters_table(profile));
  for (const Table& table : layers_tables(profile)) page.table(table);
  page.table(passes_table(profile));
  if (profile.scaling) page.table(scaling_table(*profile.scaling));
  page.table(complexity_table(profile.complexity));
  page.table(regions_table(profile.regions));
  page.table(overhead_table(profile.regions));

  page.blank();
  page.paragraph("BLAS", 0, 0, Tone::kTitle);
  page.fields(blas_fields(profile.blas));
  page.table(ladder_table(profile.blas));

  if (!profile.warnings.empty()) {
    page.blank();
    page.paragraph("Warnings", 0, 0, Tone::kTitle);
    for (const Warning& warning : profile.warnings) {
      page.paragraph(fmt::format("{}: {}", warning.code, warning.text), 2, 4, Tone::kBad);
    }
  }
  if (profile.partial) {
    page.blank();
    page.paragraph("PARTIAL: interrupted; rows may be missing.", 0, 0, Tone::kBad);
  }
  return page.take();
}

}  // namespace hwprof::report
