#include <spdlog/spdlog.h>

#include <memory>
#include <optional>

#include "src/cli/groups.h"
#include "src/cli/values.h"
#include "src/commands/commands.h"
#include "src/measure/ceilings.h"
#include "src/report/documents/inspect.h"
#include "src/report/render/write_report.h"

namespace hwprof {
namespace {

struct PeakOptions {
  CpuList pin;  // empty: where the process may run
  std::optional<int> threads;
  Output output;
};

Result<int> run_peak(const PeakOptions& options) {
  TRY(report::check_outputs(options.output));
  const bool pinned = !options.pin.empty();
  if (pinned) TRY(pin_to(options.pin));
  report::PeakReport record;
  record.version = HWPROF_VERSION;
  record.pinned = options.pin;
  record.cpus = allowed_cpus();
  record.machine = probe_machine(record.cpus.front());
  const auto threads =
      static_cast<std::size_t>(options.threads.value_or(static_cast<int>(record.cpus.size())));
  if (threads > record.cpus.size()) {
    spdlog::warn("{} threads share {} CPUs: oversubscribed", threads, record.cpus.size());
  }
  ThreadTeam team(threads, pinned ? record.cpus : CpuList{});
  if (pinned && threads > 1) {  // the caller is number 0 of the team
    TRY(pin_to({record.cpus.front()}));
  }
  record.peak = measure_peak(record.machine, team);
  settle_peak(record.peak, {});
  TRY(report::write_report(record, {report::peak_document, report::peak_report_json},
                           options.output));
  return 0;
}

}  // namespace

cli::Action peak_command(cli::Options& options) {
  auto to = std::make_shared<PeakOptions>();
  cli::pin(options, to->pin);
  options.value("--threads", "N", to->threads, cli::whole(1, cli::kMaxThreads),
                "Compute with N threads. Default: one for each CPU it may use.");
  cli::output(options, to->output,
              {Format::kText, Format::kJson, Format::kMarkdown, Format::kHtml});
  return [to](const cli::CommandLine&) { return run_peak(*to); };
}

}  // namespace hwprof
