#include "src/commands/profile/profile.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <string>
#include <variant>

#include "src/commands/interrupt.h"
#include "src/commands/profile/record.h"
#include "src/commands/profile/regions.h"
#include "src/report/data/writers.h"
#include "src/report/documents/documents.h"
#include "src/report/render/write_report.h"

namespace hwprof {
namespace {

bool some_row_measured(const report::Profile& record) {
  return std::any_of(record.rows.begin(), record.rows.end(),
                     [](const report::Row& row) { return row.time_ns.has_value(); });
}

int exit_code(const report::Profile& record, const ProfileOptions& options) {
  if (record.partial) return interrupt_exit_code();
  if (!some_row_measured(record)) return 3;
  bool refused = false;
  if (options.require_optimal_blas && record.blas.verdict != report::VerdictKind::kOptimal) {
    spdlog::error("--require optimal-blas: the verdict is {}", to_text(record.blas.verdict));
    refused = true;
  }
  if (options.require_counters) {
    std::set<std::string> named;  // an event that no row counted is said once
    for (const report::Row& row : record.rows) {
      for (const EventCount& count : row.counters) {
        if (count.value || !row.time_ns || !named.insert(count.name).second) continue;
        spdlog::error("--require counters: {} is {} in {} {}: {}", count.name,
                      to_string(count.status), row.op, row.variant, count.reason);
        refused = true;
      }
    }
  }
  return refused ? 1 : 0;
}

}  // namespace

Result<int> run_profile(const ProfileOptions& options) {
  Result<ProfileSession> session = ProfileSession::begin(options.measure);
  if (!session) return error_of(session);
  auto ready = check_region_options(options.measure, session->events);
  if (!ready) return error_of(ready);
  auto profiled = std::visit([&](const auto& own) { return profile_workload(*session, own); },
                             options.workload);
  if (!profiled) return error_of(profiled);
  report::Profile& record = session->record;
  add_warnings(record, options.measure.budget);
  if (record.complexity.text.empty()) {
    record.complexity.text =
        "not judged of this workload; hwprof sweep judges an operation over its sizes";
  }
  record.elapsed_s = session->seconds();
  session->progress->clear();
  const auto done = report::write_report(
      record, {report::profile_document, report::profile_json, report::profile_csv},
      options.measure.output);
  if (!done) return error_of(done);
  return exit_code(record, options);
}

}  // namespace hwprof
