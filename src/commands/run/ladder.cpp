#include "src/blas/ladder/ladder.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "src/blas/evidence/chosen_core.h"
#include "src/blas/evidence/executed.h"
#include "src/blas/evidence/installed.h"
#include "src/blas/evidence/lines.h"
#include "src/blas/evidence/own_openblas.h"
#include "src/blas/judge/judge_run.h"
#include "src/blas/ladder/denormal_replay.h"
#include "src/commands/interrupt.h"
#include "src/commands/run/observe.h"
#include "src/measure/peak.h"

namespace hwprof {
namespace {

constexpr double kPeakSliceSeconds = 0.02;
// The reference BLAS takes half a second for one large product, and is measured thrice.
constexpr std::chrono::milliseconds kBudgetWithCalls{8000}, kLongestRungWithCalls{3000};

// Why hwprof may not load this file to measure it: with root's rights, only what root alone can
// have written; else, what nobody but root and this user can have. Empty: it may.
std::string why_not_to_measure(const report::BlasEvidence& evidence, const std::string& path) {
  if (std::any_of(evidence.loaded.begin(), evidence.loaded.end(),
                  [&](const auto& one) { return one.path == path && one.elsewhere; })) {
    return path + " lies in the program's own mount namespace, and is another file here";
  }
  return blas::why_not_to_load(path);
}

void climb_ladder(const RunRequest& request, const std::vector<report::InstalledBlas>& installed,
                  report::Run& record) {
  report::RunBlas& blas = record.blas;
  const std::string path = blas::library_to_measure(record.blas.evidence);
  if (!request.ladder) {
    blas.ladder_note = "not measured (--no-ladder)";
    return;
  }
  if (path.empty()) {
    blas.ladder_note = "not measured: no BLAS was seen at work";
    return;
  }
  if (const std::string reason = why_not_to_measure(blas.evidence, path); !reason.empty()) {
    blas.ladder_note = "not measured: " + reason;
    return;
  }
  const blas::Replay replay =
      request.short_ladder ? blas::Replay{} : blas::plan_replay(blas.evidence.called);
  const Result<BlasLibrary> library =
      replay.calls.empty() ? BlasLibrary::load(path) : BlasLibrary::load_what_served(path);
  if (!library) {
    blas.ladder_note = "not measured: " + library.error().what;
    return;
  }
  library->set_threads(1);
  blas::LadderOptions options{.cpus = request.pin.empty() ? CpuList{} : request.pin,
                              .stop = &interrupted(),
                              .own = blas::own_openblas(),
                              .replay = replay};
  blas.calls_note = options.replay.note;
  if (!options.replay.calls.empty()) {
    blas.calls_covered = options.replay.covered;
    options.budget = kBudgetWithCalls;
    options.longest_rung = kLongestRungWithCalls;
  }
  if (request.short_ladder) options.budget = *request.short_ladder;
  blas::Ladder ladder =
      blas::climb(*library, blas::identify(*library), installed, record.machine, options);
  std::move(ladder).move_to(blas);
}

std::optional<double> cpu_ns_of(const report::Run& record) {
  if (!record.user_s || !record.system_s) return std::nullopt;
  return 1e9 * (*record.user_s + *record.system_s);
}

std::optional<double> waiting_share_of(const report::Run& record) {
  if (!record.threads || !record.threads->spin_share) return std::nullopt;
  return *record.threads->spin_share + record.threads->idle_worker_share.value_or(0);
}

blas::MemoryUse memory_of(const report::Run& record) {
  blas::MemoryUse memory{.page_bytes = static_cast<double>(::sysconf(_SC_PAGESIZE))};
  for (const EventCount& count : record.counters)
    if (count.name == "page-faults") memory.faults = count.value;
  if (record.memory) memory.large = &*record.memory;
  if (record.peak_rss_bytes) memory.peak_bytes = static_cast<double>(*record.peak_rss_bytes);
  return memory;
}

// The peak is measured after the program, on a core that is warm from it; only where there is a
// rate to compare.
void measure_rate(report::Run& record, bool one_cpu) {
  report::BlasEvidence& evidence = record.blas.evidence;
  const auto any_flops = [](const auto& calls) {
    return std::any_of(calls.begin(), calls.end(),
                       [](const auto& call) { return call.flops.value_or(0) > 0; });
  };
  const report::Called& called = evidence.called;
  const bool rates = !record.modules.empty() || any_flops(called.calls) ||
                     any_flops(called.primitives) || any_flops(called.transforms);
  std::optional<double> peak;
  if (rates) peak = fma_slice_gflops(fastest_fma_kernel(), kPeakSliceSeconds);
  evidence.achieved_rate =
      blas::achieved_rate(evidence.called, evidence.executed, evidence.loaded, peak);
  blas::add_call_rates(evidence, one_cpu);
  blas::add_line_peaks(record.lines, peak.value_or(0));
}

// Fills record.blas anew from its evidence and its ladder.
void judge(const RunRequest& request, const std::vector<report::InstalledBlas>& installed,
           report::Run& record) {
  report::RunBlas& result = record.blas;
  const CpuList cpus = request.pin.empty() ? allowed_cpus() : request.pin;
  report::RunBlas judged = blas::judge_run({.evidence = result.evidence,
                                            .ladder = result.ladder,
                                            .cpu = blas::visible_cpu(record.machine),
                                            .installed = installed,
                                            .cpus = cpus.size(),
                                            .attached = request.attach.has_value(),
                                            .no_ladder = !request.ladder,
                                            .wall_ns = 1e9 * record.wall_s,
                                            .cpu_ns = cpu_ns_of(record),
                                            .waiting_share = waiting_share_of(record),
                                            .memory = memory_of(record)});
  judged.evidence = std::move(result.evidence);
  judged.ladder = std::move(result.ladder);
  judged.ladder_note = std::move(result.ladder_note);
  judged.results = std::move(result.results);
  judged.own = std::move(result.own);
  judged.calls_covered = result.calls_covered;
  judged.calls_note = std::move(result.calls_note);
  judged.own_reason = std::move(result.own_reason);
  result = std::move(judged);
}

}  // namespace

void judge_run_blas(const RunRequest& request, report::Run& record) {
  record.blas.ladder_note = "not measured: no BLAS was seen at work";
  blas::skip_denormals(record.blas.evidence, "not measured");
  measure_rate(record, request.pin.size() == 1);
  judge(request, blas::installed_blas(), record);
}

void measure_run_blas(const RunRequest& request, const KnownSoFar& known, report::Run& record) {
  watch_interrupts();
  const std::vector<report::InstalledBlas> installed = blas::installed_blas();
  measure_rate(record, request.pin.size() == 1);
  if (request.ladder) {
    // To measure a library is to run it, and what that does nobody knows.
    record.blas.ladder_note = "not measured: hwprof's worker ended while it measured";
    blas::skip_denormals(record.blas.evidence, record.blas.ladder_note);
    judge(request, installed, record);
    known(record);
    record.blas.ladder_note.clear();
  }
  climb_ladder(request, installed, record);
  if (request.ladder && !request.short_ladder) {
    blas::replay_denormals(record.blas.evidence, why_not_to_measure,
                           {.cpus = request.pin, .stop = &interrupted()});
  } else {
    blas::skip_denormals(record.blas.evidence, request.ladder ? "not measured in so short a time"
                                                              : "not measured (--no-ladder)");
  }
  judge(request, installed, record);
}

}  // namespace hwprof
