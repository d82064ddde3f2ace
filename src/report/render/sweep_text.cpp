// A sweep in a terminal: the verdict first, then the exponents and a plot, then every point.
#include <fmt/format.h>

#include "src/report/documents/sweep_content.h"
#include "src/report/render/page.h"

namespace hwprof::report {

std::string sweep_text(const Sweep& sweep, const TextStyle& style) {
  Page page(style);
  const Headline head = sweep_headline(sweep);
  page.paragraph(head.text, 0, 0, head.good ? Tone::kGood : Tone::kBad);
  if (sweep.run.partial) {
    page.paragraph("PARTIAL: interrupted; only what was measured until then is shown.", 0, 0,
                   Tone::kBad);
  }
  page.blank();
  page.paragraph(run_line(sweep.run));
  page.paragraph("$ " + command_line(sweep.run), 0, 2);
  page.blank();
  page.fields(machine_fields(sweep.run));
  page.blank();
  page.fields(sweep_fields(sweep));
  page.table(laws_table(sweep));
  page.blank();
  for (const std::string& line : sweep_plot(sweep, style.columns)) page.paragraph(line);
  page.table(points_table(sweep));
  page.table(sweep_counters_table(sweep));
  if (!sweep.run.warnings.empty()) {
    page.blank();
    page.paragraph("Warnings", 0, 0, Tone::kTitle);
    for (const Warning& warning : sweep.run.warnings)
      page.paragraph(fmt::format("{}: {}", warning.code, warning.text), 2, 4, Tone::kBad);
  }
  return page.take();
}

}  // namespace hwprof::report
