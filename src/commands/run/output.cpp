#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "src/base/files.h"
#include "src/base/text.h"
#include "src/base/utc.h"
#include "src/blas/exact/exact_calls.h"
#include "src/blas/judge/trial.h"
#include "src/commands/run/fix.h"
#include "src/commands/run/observe.h"
#include "src/observe/monitor/errands.h"
#include "src/report/data/writers.h"
#include "src/report/documents/documents.h"
#include "src/report/flame/flame.h"
#include "src/report/printable.h"
#include "src/report/render/write_report.h"

namespace hwprof {
namespace {

constexpr std::chrono::seconds kLongestCheck{10};
constexpr int kNotTold = 3;  // whether the BLAS is optimal

std::vector<std::string> files_of(const RunOptions& options) {
  return {options.output.file, options.output.page, options.request.trace, options.flame,
          options.folded,      options.speedscope,  options.pprof};
}

// The rest of a worker's task: its record is saved, and its exit code said.
class Conclusion {
 public:
  Conclusion(const RunOptions& options, RunDocument document, Conclude conclude)
      : options_(options), document_(document), conclude_(conclude) {}

  Result<void> save(const report::Run& record, observe::MonitorClient& monitor) const {
    const report::Writers<report::Run> writers{document_, report::run_json};
    TRY(monitor.save_report(
        report::report_bytes(record, writers, options_.output, report::Stream::kStderr)));
    const std::string& page = options_.output.page;
    return page.empty() ? Result<void>()
                        : monitor.save_file(page, report::page_bytes(record, writers));
  }
  Result<int> end(const report::Run& record, observe::MonitorClient& monitor) const {
    if (record.not_run.empty()) {
      TRY(save(record, monitor));
      write_stacks(record, options_, monitor);
    } else if (options_.reports_not_run) {
      TRY(save(record, monitor));
    } else {
      spdlog::error("{}", report::printable(record.not_run));
    }
    return conclude_(record, options_);
  }

 private:
  const RunOptions& options_;
  RunDocument document_;
  Conclude conclude_;
};

}  // namespace

Result<void> check_report_output(const RunOptions& options) {
  observe::Errands errands;
  const auto check = [&](const std::string& path) {
    return observe::at_file(errands, path, kLongestCheck, [&] { return check_writable(path); });
  };
  const auto possible = report::check_outputs(
      options.output,
      {options.request.trace, options.flame, options.folded, options.speedscope, options.pprof},
      check);
  if (!possible) return usage_error(possible.error().what, possible.error().hint);
  return {};
}

void write_stacks(const report::Run& record, const RunOptions& options,
                  observe::MonitorClient& monitor) {
  const report::Executed& executed = record.blas.evidence.executed;
  const report::FlameOptions drawing{
      .title = shell_command(record.command),
      .hz = executed.frequency_hz,
      .started_ns = unix_seconds(record.started_utc).value_or(0) * 1'000'000'000,
      .wall_ns = static_cast<std::int64_t>(1e9 * record.wall_s)};
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
    const auto written = monitor.save_file(path, writer(executed.stacks, drawing));
    if (!written) spdlog::warn("{}", report::printable(written.error().what));
  };
  write(options.flame, flame);
  write(options.folded, folded);
  write(options.speedscope, report::speedscope_json);
  const auto pprof = [&](std::span<const report::FoldedStack>, const report::FlameOptions& how) {
    return report::pprof_profile(executed.placed, how);
  };
  write(options.pprof, pprof);
}

Result<int> observe_apart(const RunOptions& options, RunDocument document, bool passes_exit_code,
                          Conclude conclude) {
  TRY(check_report_output(options));
  const RunRequest& request = options.request;
  std::vector<std::string> variables = variables_of(request.fix);
  if (request.layers) variables.emplace_back("PYTHONPATH=");
  if (request.exact)
    for (std::string& variable : blas::exact_variables()) variables.push_back(std::move(variable));
  const Conclusion conclusion(options, document, conclude);
  const auto observe = [&](observe::MonitorClient& monitor) -> Result<int> {
    // Where this one is not taken, the last one still may be.
    const auto known = [&](const report::Run& record) {
      static_cast<void>(conclusion.save(record, monitor));
    };
    TRY(const report::Run record, observe_program(request, monitor, known));
    return conclusion.end(record, monitor);
  };
  const auto say = [&](observe::MonitorClient& monitor,
                       const observe::WorkerDeath& death) -> Result<int> {
    TRY(const report::Run record, program_without_worker(request, death));
    return conclusion.end(record, monitor);
  };
  return observe::run_split(
      {.command = request.command,
       .attach = request.attach,
       .attach_for = request.attach_seconds
                         ? std::optional(std::chrono::milliseconds(
                               static_cast<std::int64_t>(1e3 * *request.attach_seconds)))
                         : std::nullopt,
       .runs = 1 + request.warmup + request.repeat + most_runs(request.fix),
       .pin = request.pin,
       .user = request.user,
       .files = files_of(options),
       .variables = variables,
       .kept_variables = blas::shaping_variables(),
       .passes_exit_code = passes_exit_code,
       .exit_without_worker = passes_exit_code && !options.require_optimal_blas ? 0 : kNotTold,
       .report_file = options.output.file,
       // Nobody is left to hear that standard error cannot be written.
       .write_report =
           [](const std::string& bytes) { static_cast<void>(report::write_stderr(bytes)); },
       .say_error = [](const Error& error) { spdlog::error("{}", report::printable(error.what)); }},
      observe, say);
}

}  // namespace hwprof
