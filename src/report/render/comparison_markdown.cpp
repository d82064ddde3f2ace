// The same sentences and cells as the text report, for an issue or a pull request.
#include <fmt/format.h>

#include "src/report/render/comparison_writers.h"
#include "src/report/render/markdown_parts.h"

namespace hwprof::report {

std::string comparison_markdown(const Comparison& comparison) {
  std::string out = fmt::format("**{}**\n\n", markdown_escaped(headline(comparison).text)) +
                    markdown_list(comparison_fields(comparison));
  for (const FileComparison& file : comparison.files) {
    out += markdown_table(changes_table(comparison, file));
    if (file.warnings.empty()) continue;
    out += fmt::format("\n## {}\n\n", markdown_escaped("Warnings on " + file.file.path));
    for (const Warning& warning : file.warnings) {
      out +=
          fmt::format("- {}: {}\n", markdown_escaped(warning.code), markdown_escaped(warning.text));
    }
  }
  return out;
}

}  // namespace hwprof::report
