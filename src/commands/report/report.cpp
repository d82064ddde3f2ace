// `hwprof report`: pages of reports that were saved as JSON.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "src/cli/groups.h"
#include "src/cli/values.h"
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

Result<int> run_report(const ReportOptions& options) {
  if (options.files.empty())
    return usage_error("report needs a saved report",
                       "hwprof report FILE.json... -o FILE.html; --format json -o FILE.json saves "
                       "one");
  TRY(report::check_outputs(options.output));
  std::vector<report::PageReport> reports;
  for (const std::string& path : options.files) {
    TRY(check_is_no_pipe(path));
    TRY(const ReportFile file, read_report(path, saved_schemas()));
    TRY(report::PageReport page, saved_page(file));
    if (options.files.size() > 1) page.document.title += fmt::format(" ({})", path);
    reports.push_back(std::move(page));
  }
  TRY(report::write_bytes(report::as_html(reports), options.output));
  return 0;
}

}  // namespace

cli::Action report_command(cli::Options& options) {
  auto to = std::make_shared<ReportOptions>();
  options.words("files", "FILE.json...", to->files,
                "Reports that were saved with --format json, of any command, machine and time; "
                "\"-\" reads one from standard input.");
  options.group(cli::kReport);
  options.value(
      "-o,--output", "FILE",
      [to](const std::string&, const std::string& text) -> Result<void> {
        to->output.file = text == "-" ? "" : text;
        return {};
      },
      "Write the page to FILE, whole or not at all. Default: \"-\", standard output.");
  options.footer(
      "hwprof report profile.json run.json -o report.html\n"
      "\nThe page is one file that needs no other and no network; its numbers are in it as\n"
      "tables and as JSON.\n"
      "\nExit codes: 0 written, 2 wrong usage or input, 3 the page could not be written.");
  return [to](const cli::CommandLine&) { return run_report(*to); };
}

}  // namespace hwprof
