// A comparison on a terminal: the verdict, then the rows, then what else differs.
#include <fmt/format.h>

#include "src/report/render/comparison_writers.h"
#include "src/report/render/page.h"

namespace hwprof::report {

std::string comparison_text(const Comparison& comparison, const TextStyle& style) {
  Page page(style);
  const Headline head = headline(comparison);
  page.paragraph(head.text, 0, 0, head.good ? Tone::kGood : Tone::kBad);
  page.blank();
  page.fields(comparison_fields(comparison));
  for (const FileComparison& file : comparison.files) {
    page.table(changes_table(comparison, file));
    if (file.warnings.empty()) continue;
    page.blank();
    page.paragraph("Warnings on " + file.file.path, 0, 0, Tone::kTitle);
    for (const Warning& warning : file.warnings) {
      page.paragraph(fmt::format("{}: {}", warning.code, warning.text), 2, 4, Tone::kBad);
    }
  }
  return page.take();
}

}  // namespace hwprof::report
