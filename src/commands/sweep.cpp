#include "src/commands/sweep.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "src/commands/interrupt.h"
#include "src/commands/profile_record.h"
#include "src/report/data/writers.h"
#include "src/report/documents/documents.h"
#include "src/report/render/write_report.h"

namespace hwprof {
namespace {

int exit_code(const report::Sweep& sweep, const SweepOptions& options) {
  if (sweep.run.partial) return interrupt_exit_code();
  const auto& rows = sweep.run.rows;
  if (std::none_of(rows.begin(), rows.end(), [](const auto& row) { return row.time_ns; })) return 3;
  if (!options.require_agreement || sweep.agrees.value_or(false)) return 0;
  spdlog::error("--require agreement: {}", sweep.text);
  return 1;
}

}  // namespace

Result<report::Sweep> measure_sweep(ProfileSession& session, const SweepOptions& options,
                                    const SweepPlan& plan, std::span<const Task> tasks) {
  // A check is of a sample of blocks, not of whole documents.
  constexpr std::size_t kWholeDocuments = 0;
  if (auto done = session.measure(tasks, {.checked_documents = kWholeDocuments}); !done)
    return error_of(done);
  add_warnings(session.record, options.measure.budget);
  session.record.elapsed_s = session.seconds();
  report::Sweep sweep;
  sweep.run = session.record;
  sweep.op = plan.op;
  sweep.variant = plan.variant;
  if (options.op != plan.op) sweep.asked = options.op;
  sweep.held = plan.held;
  for (const SweepRange& range : plan.ranges)
    sweep.swept.push_back({range.name, range.low, range.high});
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    sweep.needs_blas = sweep.needs_blas || tasks[i].needs_blas;
    report::SweepPoint& point = sweep.points.emplace_back();
    point.at = plan.at[i];
    point.working_set_bytes = tasks[i].cost.working_set_bytes;
  }
  judge_sweep(sweep);
  return sweep;
}

Result<int> run_sweep(const SweepOptions& options) {
  // 1. What the user can get wrong, before anything takes time.
  Result<ProfileSession> session = ProfileSession::begin(options.measure);
  if (!session) return error_of(session);
  const Result<SweepPlan> plan = plan_sweep(options, session->record.machine.memory_bytes);
  if (!plan) return error_of(plan);

  // 2. BLAS, threads, ceilings.
  if (auto done = session->set_up(); !done) return error_of(done);

  // 3. The operation at every point.
  std::vector<Operation> operations;
  std::vector<Task> tasks;
  for (const OperationSpec& spec : plan->specs) {
    session->progress->show("making inputs", 0.1);
    Result<Operation> operation =
        Operation::create(spec, {}, session->library(), session->blas.reason, session->team());
    if (!operation) return error_of(operation);
    tasks.push_back(operation->task());
    operations.push_back(*std::move(operation));
  }

  // 4. All points by turns, and the laws through them.
  const Result<report::Sweep> sweep = measure_sweep(*session, options, *plan, tasks);
  if (!sweep) return error_of(sweep);
  session->progress->clear();
  const auto done =
      report::write_report(*sweep, {report::sweep_document, report::sweep_json, report::sweep_csv},
                           options.measure.output);
  if (!done) return error_of(done);
  return exit_code(*sweep, options);
}

}  // namespace hwprof
