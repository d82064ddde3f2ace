#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "src/base/text.h"
#include "src/commands/run/observe.h"
#include "src/report/data/writers.h"
#include "src/report/documents/documents.h"
#include "src/report/flame/flame.h"
#include "src/report/printable.h"
#include "src/report/render/write_report.h"

namespace hwprof {
namespace {

using Document = report::Document (*)(const report::Run&);

void write(const report::Run& record, const RunOptions& options, Document document) {
  const report::Writers<report::Run> writers{document, report::run_json};
  Output output = options.output;
  if (!output.file.empty()) {
    const auto written = report::write_report(record, writers, output);
    if (written) return;
    spdlog::warn("{}; the report follows here", report::printable(written.error().what));
    output.file.clear();
  }
  // Nobody is left to hear that standard error cannot be written.
  static_cast<void>(report::write_report(record, writers, output, report::Stream::kStderr));
}

}  // namespace

Result<void> check_report_output(const RunOptions& options) {
  const auto possible = report::check_outputs({options.output.file, options.request.trace,
                                               options.flame, options.folded, options.speedscope});
  if (!possible) return usage_error(possible.error().what, possible.error().hint);
  return {};
}

void write_stacks(const report::Run& record, const RunOptions& options) {
  const report::Executed& executed = record.blas.evidence.executed;
  const report::FlameOptions drawing{.title = shell_command(record.command),
                                     .hz = executed.frequency_hz};
  const auto flame = [&](std::span<const report::FoldedStack> stacks,
                         const report::FlameOptions& how) {
    return report::flame_for(options.flame, stacks, how);
  };
  const auto folded = [](std::span<const report::FoldedStack> stacks, const report::FlameOptions&) {
    return report::folded_text(stacks);
  };
  const auto write = [&](const std::string& path, const auto& writer) {
    if (path.empty()) return;
    if (executed.stacks.empty()) {
      spdlog::warn("{} is not written: no stack was sampled", report::printable(path));
      return;
    }
    const auto written = report::write_file(path, writer(executed.stacks, drawing));
    if (!written) spdlog::warn("{}", report::printable(written.error().what));
  };
  write(options.flame, flame);
  write(options.folded, folded);
  write(options.speedscope, report::speedscope_json);
}

void write_run_report(const report::Run& record, const RunOptions& options) {
  write(record, options, report::run_document);
}

void write_verdict(const report::Run& record, const RunOptions& options) {
  write(record, options, report::verdict_document);
}

}  // namespace hwprof
