// A terminal page on a program, the verdict first.
#include <fmt/format.h>

#include "src/report/documents/regions.h"
#include "src/report/documents/run_content.h"
#include "src/report/documents/survey.h"
#include "src/report/render/page.h"
#include "src/report/render/run_writers.h"

namespace hwprof::report {

std::string run_text(const Run& run, const TextStyle& style) {
  Page page(style);
  for (const Headline& head : run_headlines(run)) {
    page.paragraph(head.text, 0, 0, head.good ? Tone::kGood : Tone::kBad);
  }
  page.blank();
  page.paragraph(run_line(run));
  page.paragraph("$ " + command_line(run), 0, 2);
  page.blank();
  page.fields(run_fields(run));
  if (run.repeats) {
    page.table(repeats_table(*run.repeats));
    page.table(outliers_table(*run.repeats));
  }
  page.table(run_counters_table(run));
  page.table(regions_table(run.regions));

  page.blank();
  page.paragraph("Evidence on the BLAS, level by level", 0, 0, Tone::kTitle);
  page.fields(evidence_fields(run.blas.evidence));
  page.table(calls_table(run.blas.evidence.called));
  page.table(libraries_table(run.blas.evidence.executed));
  page.table(symbols_table(run.blas.evidence.executed));
  page.table(lines_table(run.blas.evidence.executed));
  page.table(ladder_table(run.blas.ladder, run.blas.ladder_note));

  if (!run.warnings.empty()) {
    page.blank();
    page.paragraph("Warnings", 0, 0, Tone::kTitle);
    for (const Warning& warning : run.warnings) {
      page.paragraph(fmt::format("{}: {}", warning.code, warning.text), 2, 4, Tone::kBad);
    }
  }
  return page.take();
}

std::string run_verdict_text(const Run& run, const TextStyle& style) {
  Page page(style);
  for (const Headline& head : run_headlines(run)) {
    page.paragraph(head.text, 0, 0, head.good ? Tone::kGood : Tone::kBad);
  }
  if (run.exit != 0) page.paragraph(fmt::format("The command's own exit code: {}.", run.exit));
  const RunBlas& blas = run.blas;
  const Performing& performing = blas.evidence.performing;
  return verdict_line(blas.verdict, blas.provider, blas.core, performing.gflops,
                      performing.peak_fraction) +
         "\n" + page.take();
}

}  // namespace hwprof::report
