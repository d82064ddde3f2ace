// `hwprof report`: reports that were saved as JSON, as a page or as text.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "src/base/files.h"
#include "src/cli/groups.h"
#include "src/commands/commands.h"
#include "src/commands/compare/report_file.h"
#include "src/commands/report/bench_file.h"
#include "src/commands/report/peers.h"
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
  if (is_open_file(path) ||
      std::filesystem::status(path, ignored).type() != std::filesystem::file_type::fifo)
    return {};
  return usage_error(fmt::format("{} is a pipe, no report", path),
                     "\"-\" reads a report from standard input");
}

struct Files {
  std::vector<ReportFile> reports;
  std::vector<BenchFile> benches;
};

Result<Files> read_files(const std::vector<std::string>& paths) {
  Files files;
  for (const std::string& path : paths) {
    TRY(check_is_no_pipe(path));
    TRY(nlohmann::ordered_json json, read_json(path));
    if (is_benchmark(json)) {
      TRY(BenchFile bench, read_bench(path, json));
      files.benches.push_back(std::move(bench));
    } else {
      TRY(ReportFile report, report_of(path, std::move(json), saved_schemas()));
      files.reports.push_back(std::move(report));
    }
  }
  return files;
}

Result<void> add_all_peers(Files& files) {
  if (files.benches.empty()) return {};
  bool any = false;
  for (ReportFile& file : files.reports) {
    if (file.schema != model::record<model::Profile>().schema) continue;
    any = true;
    TRY(add_peers(file, files.benches));
  }
  if (any) return {};
  return usage_error(
      fmt::format("{} has peers for the rows of a profile, and no profile is named",
                  files.benches.front().path),
      fmt::format("hwprof report PROFILE.json {} -o FILE.html", files.benches.front().path));
}

Result<std::vector<report::PageReport>> read_all(const std::vector<std::string>& paths) {
  TRY(Files files, read_files(paths));
  TRY(add_all_peers(files));
  std::vector<report::PageReport> reports;
  for (const ReportFile& file : files.reports) {
    TRY(report::PageReport page, saved_page(file));
    if (files.reports.size() > 1) page.document.title += fmt::format(" ({})", file.path);
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
  TRY(report::check_outputs(output));
  TRY(const auto reports, read_all(options.files));
  if (output.format == Format::kJson && reports.size() > 1)
    return usage_error("several reports are no JSON", "name one file, or take another --format");
  TRY(report::write_bytes(bytes_of(reports, output), output));
  if (!output.page.empty()) TRY(report::write_output(output.page, report::as_html(reports)));
  return 0;
}

}  // namespace

cli::Action report_command(cli::Options& options) {
  auto to = std::make_shared<ReportOptions>();
  options.words("files", "FILE.json...", to->files,
                "Reports that were saved with --format json, of any command, machine and time; "
                "\"-\" reads one from standard input. Beside a profile, the JSON of scripts/bench "
                "adds OpenBLAS, oneDNN and other peers that did the same work on the same CPU.");
  cli::output(options, to->output,
              {Format::kText, Format::kJson, Format::kMarkdown, Format::kHtml});
  options.footer(
      "hwprof report run.json                              what it said, as text\n"
      "hwprof report profile.json run.json -o report.html  both in one page\n"
      "hwprof report profile.json build/bench/run-1.json -o report.html\n"
      "                                                    with peers on the roofline\n"
      "\nThe page is one file that needs no other and no network: its numbers are in it\n"
      "as tables and as JSON.\n"
      "\nExit codes: 0 written, 2 wrong usage or input, 3 it could not be written.");
  return [to](const cli::CommandLine&) { return run_report(*to); };
}

}  // namespace hwprof
