#include "src/commands/peak.h"

#include <spdlog/spdlog.h>

#include "src/measure/ceilings.h"
#include "src/report/documents/inspect.h"
#include "src/report/render/write_report.h"

namespace hwprof {

Result<int> run_peak(const PeakOptions& options) {
  const bool pinned = !options.pin.empty();
  if (pinned) {
    if (auto done = pin_to(options.pin); !done) return error_of(done);
  }
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
    if (auto done = pin_to({record.cpus.front()}); !done) return error_of(done);
  }
  record.peak = measure_peak(record.machine, team);
  settle_peak(record.peak, {});
  const auto printed = report::write_report(
      record, {report::peak_document, report::peak_report_json}, options.output);
  if (!printed) return error_of(printed);
  return 0;
}

}  // namespace hwprof
