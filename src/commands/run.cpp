#include "src/commands/run.h"

#include <spdlog/spdlog.h>

#include "src/commands/observe.h"
#include "src/report/output.h"
#include "src/report/printable.h"
#include "src/report/run_writers.h"

namespace hwprof {
namespace {

std::string report_bytes(const report::Run& record, RunFormat format, bool to_stderr) {
  switch (format) {
    case RunFormat::kJson:
      return report::run_json(record);
    case RunFormat::kMarkdown:
      return report::run_markdown(record);
    case RunFormat::kText:
      break;
  }
  if (!to_stderr) return report::run_text(record, {});
  return "\n" +
         report::run_text(record, report::stderr_style());  // apart from the command's output
}

}  // namespace

Result<void> check_report_output(const RunOptions& options) {
  if (options.output.empty()) return {};
  auto possible = report::check_writable(options.output);
  if (possible) return {};
  return usage_error(possible.error().what, possible.error().hint);
}

void write_run_report(const report::Run& record, const RunOptions& options) {
  if (!options.output.empty()) {
    const auto written =
        report::write_file(options.output, report_bytes(record, options.format, false));
    if (written) return;
    spdlog::warn("{}; the report follows here", report::printable(written.error().what));
  }
  // Nobody is left to hear that standard error cannot be written.
  static_cast<void>(report::write_stderr(report_bytes(record, options.format, true)));
}

Result<int> run_run(const RunOptions& options) {
  if (auto done = check_report_output(options); !done) return error_of(done);
  const Result<report::Run> record = observe(options.request);
  if (!record) return error_of(record);
  if (record->not_run.empty()) {
    write_run_report(*record, options);
  } else {
    spdlog::error("{}", report::printable(record->not_run));
  }
  return record->exit;
}

}  // namespace hwprof
