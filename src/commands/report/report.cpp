// `hwprof report`: reports that were saved as JSON, as a page or as text.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "src/cli/groups.h"
#include "src/commands/commands.h"
#include "src/commands/compare/report_file.h"
#include "src/commands/report/saved.h"
#include "src/report/render/write_report.h"

namespace hwprof {
namespace {

struct ReportOptions {
  std::vector<std::string> files;
  Output output;
};

// A pipe that somebody has made in a folder gives nothing until somebody else writes into it.
Result<void> check_is_no_pipe(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::symlink_status(path, ignored).type() != std::filesystem::file_type::fifo)
    return {};
  return usage_error(fmt::format("{} is a pipe, no report", path),
                     "\"-\" reads a report from standard input");
}

Result<std::vector<report::PageReport>> read_all(const std::vector<std::string>& paths) {
  std::vector<report::PageReport> reports;
  for (const std::string& path : paths) {
    TRY(check_is_no_pipe(path));
    TRY(const ReportFile file, read_report(path, saved_schemas()));
    TRY(report::PageReport page, saved_page(file));
    if (paths.size() > 1) page.document.title += fmt::format(" ({})", path);
    reports.push_back(std::move(page));
  }
  return reports;
}

std::string bytes_of(const std::vector<report::PageReport>& reports, const Output& output) {
  if (output.format == Format::kHtml) return report::as_html(reports);
  std::string bytes;
  for (const report::PageReport& one : reports) {
    if (!bytes.empty()) bytes += '\n';
    bytes += output.format == Format::kJson ? one.json : report::rendered(one.document, output);
  }
  return bytes;
}

Result<int> run_report(const ReportOptions& options) {
  const Output& output = options.output;
  if (options.files.empty())
    return usage_error("report needs a saved report",
                       "hwprof report FILE.json... -o FILE.html; --format json -o FILE.json saves "
                       "one");
  if (output.format == Format::kJson && options.files.size() > 1)
    return usage_error("several reports are no JSON", "name one file, or take another --format");
  TRY(report::check_outputs(output));
  TRY(const auto reports, read_all(options.files));
  TRY(report::write_bytes(bytes_of(reports, output), output));
  if (!output.page.empty()) TRY(report::write_file(output.page, report::as_html(reports)));
  return 0;
}

}  // namespace

cli::Action report_command(cli::Options& options) {
  auto to = std::make_shared<ReportOptions>();
  options.words("files", "FILE.json...", to->files,
                "Reports that were saved with --format json, of any command, machine and time; "
                "\"-\" reads one from standard input.");
  cli::output(options, to->output,
              {Format::kText, Format::kJson, Format::kMarkdown, Format::kHtml});
  options.footer(
      "hwprof report run.json                              what it said, as text\n"
      "hwprof report profile.json run.json -o report.html  both in one page\n"
      "\nThe page is one file that needs no other and no network: its numbers are in it\n"
      "as tables and as JSON.\n"
      "\nExit codes: 0 written, 2 wrong usage or input, 3 it could not be written.");
  return [to](const cli::CommandLine&) { return run_report(*to); };
}

}  // namespace hwprof
