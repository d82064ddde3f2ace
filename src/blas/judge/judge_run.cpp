#include "src/blas/judge/judge_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/blas/judge/steps.h"
#include "src/blas/judge/words.h"
#include "src/measure/statistics.h"
#include "src/observe/routines/blas_routine.h"
#include "src/observe/samples/sampling.h"

namespace hwprof::blas {
namespace {

using report::LadderRung;
using report::RunBlas;
using report::Verdict;
using report::VerdictKind;

VectorClass class_of(const report::LibraryLoops* loops) {
  if (loops == nullptr) return VectorClass::kNone;
  if (loops->width == "512") return VectorClass::kAvx512;
  if (loops->width == "256") return loops->fma ? VectorClass::kAvx2 : VectorClass::kAvx;
  if (loops->width == "128") return VectorClass::kSse;
  return loops->width == "scalar" ? VectorClass::kScalar : VectorClass::kNone;
}

constexpr double kNotableFaults = 0.01;  // of the samples
// Smaller products are not worth another thread: 128 x 128 x 128.
constexpr double kWorthThreads = 2.0 * 128 * 128 * 128;
// The mean of products that are dominated by the cost of calling: 16 x 16 x 16.
constexpr double kOverheadFlops = 2.0 * 16 * 16 * 16;

// Mean over all calls of a BLAS that compute; absent where none was seen, the FLOP of some are not
// known, or LAPACK was called, which need not call a BLAS that can be seen.
std::optional<double> flops_of_a_call(const report::BlasEvidence& evidence) {
  double flops = 0, calls = 0;
  if (!evidence.called.lapack.empty()) return std::nullopt;
  for (const report::CallSite& site : evidence.called.calls) {
    if (!site.flops) return std::nullopt;
    if (*site.flops <= 0) continue;
    flops += *site.flops;
    calls += static_cast<double>(site.count);
  }
  return calls > 0 ? std::optional(flops / calls) : std::nullopt;
}

std::string behind(const std::vector<LadderRung>& ladder, const std::string& path) {
  const auto found = std::find_if(ladder.begin(), ladder.end(), [&](const LadderRung& rung) {
    return rung.as_found && rung.library == path;
  });
  return found != ladder.end() ? found->behind : "";
}

// The ladder's product is a large one: it says nothing of calls of some thousand FLOP.
void judge_overhead(const RunEvidence& run, Verdict& verdict) {
  const auto flops = flops_of_a_call(run.evidence);
  if (!flops || *flops > kOverheadFlops || verdict.verdict == VerdictKind::kWrongResults) return;
  verdict.verdict = VerdictKind::kOverheadBound;
  verdict.factor = verdict.factor_low = verdict.factor_high = std::nullopt;
  const auto reached = run.evidence.achieved_rate.peak_fraction;
  verdict.why = fmt::format(
      "a call has {:.0f} FLOP on average: the cost of calling dominates{}, whatever the kernels",
      *flops, reached ? fmt::format(" ({:.2g} % of the FMA peak)", 100 * *reached) : "");
  verdict.fix = "make fewer and larger products: one call for a whole batch";
}

bool has_plain_names(const report::Called& called, const std::string& library) {
  return std::none_of(called.calls.begin(), called.calls.end(), [&](const report::CallSite& site) {
    observe::Routine routine;
    return site.library == library &&
           (site.symbol.starts_with("scipy_") ||
            (observe::find_routine(site.symbol.c_str(), routine) && routine.wide));
  });
}

// What the judge is asked of a program's library.
Evidence evidence_on(const RunEvidence& run, const ProviderAtWork& work) {
  Evidence evidence;
  static_cast<report::Blas&>(evidence.library) = work.library;
  evidence.at_work = true;
  if (work.sampled) evidence.executed = class_of(work.loops);
  evidence.environment = run.evidence.declared.environment;
  evidence.cpu = run.cpu;
  evidence.installed = run.installed;
  evidence.achieved_fraction = run.evidence.achieved_rate.peak_fraction;
  evidence.library.behind = behind(run.ladder, work.library.path);
  evidence.plain_names = has_plain_names(run.evidence.called, work.library.path);
  evidence.linked_in =
      std::any_of(run.evidence.loaded.begin(), run.evidence.loaded.end(), [&](const auto& file) {
        return file.path == work.library.path && file.serves_blas && file.soname.empty();
      });
  std::vector<std::string_view> surer;
  if (run.no_ladder) surer.emplace_back("run without --no-ladder");
  if (!work.sampled && run.evidence.executed.frequency_hz > 0)
    surer.emplace_back("run it for longer");
  evidence.surer = fmt::format("{}", fmt::join(surer, "; "));
  const auto flops = flops_of_a_call(run.evidence);
  if (flops.value_or(kWorthThreads) >= kWorthThreads) {
    evidence.cpus = run.cpus;
    evidence.threads = work.chosen_threads ? work.chosen_threads : work.library.threads;
  }
  return evidence;
}

// The program's own calls say what the kernels cost it; what a call itself costs, hwprof's replay
// pays too.
void weigh_by_time(const RunEvidence& run, const Evidence& evidence, const ProviderAtWork& work,
                   const std::vector<LadderRung>& ladder, RunBlas& result) {
  const Steps steps = find_steps(evidence, ladder);
  if (!result.factor || steps.best == nullptr) return;
  result.factor_of =
      steps.found->calls_fraction ? report::FactorOf::kCalls : report::FactorOf::kSgemm;
  if (steps.best != steps.found) result.fastest = rung_label(*steps.best);
  if (work.sampled) {
    const double added =
        run.cpu_ns.value_or(0) > 0 ? run.evidence.called.added_ns.value_or(0) / *run.cpu_ns : 0;
    result.blas_share = std::min(1.0, work.blas_share / std::max(1 - added, work.blas_share));
    result.blas_share_of = "CPU time";
  } else if (run.evidence.called.wall_ns && run.wall_ns.value_or(0) > 0) {
    result.blas_share = std::min(1.0, *run.evidence.called.wall_ns / *run.wall_ns);
    result.blas_share_of = "wall time";
  } else {
    result.blas_share_of = "not known: too few samples, and no time inside calls";
    return;
  }
  if (result.factor_of != report::FactorOf::kCalls) return;
  const double share = *result.blas_share;
  result.program_factor = 1 / (1 - share + share / *result.factor);
}

// "this CPU's 512-bit kernels are 1.9 times faster; OPENBLAS_CORETYPE=Haswell is set in the
// environment: unset it"
std::string loss_of(const Evidence& evidence, const Verdict& verdict,
                    const std::vector<LadderRung>& ladder, const Thresholds& thresholds) {
  if (verdict.verdict != VerdictKind::kSuboptimal && verdict.verdict != VerdictKind::kUnoptimised) {
    return "";
  }
  std::vector<std::string> parts;
  if (verdict.factor.value_or(0) > thresholds.optimal_factor) {
    const LadderRung& best = *std::max_element(
        ladder.begin(), ladder.end(),
        [](const auto& a, const auto& b) { return speed_of(a).value < speed_of(b).value; });
    const auto found =
        std::find_if(ladder.begin(), ladder.end(), [](const auto& rung) { return rung.as_found; });
    const bool wider = found != ladder.end() && rank(best.vector_class) > rank(found->vector_class);
    const std::string what =
        wider ? fmt::format("this CPU's {} kernels are", report::facts(best.vector_class).width)
              : (best.core.empty() ? file_label(best.library) : best.core) + " is";
    parts.push_back(fmt::format("{} {} times faster{}", what, two_digits(*verdict.factor),
                                best.calls_fraction ? " with these calls" : ""));
  }
  const std::string variable = core_variable(evidence.library.provider, evidence);
  if (!variable.empty() && verdict.fix.find("unset " + variable) != std::string::npos) {
    parts.push_back(fmt::format("{}={} is set in the environment: unset it", variable,
                                evidence.environment.at(variable)));
  } else if (!verdict.fix.empty()) {
    parts.push_back(verdict.fix);
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

// Where no call was seen: why there may have been some.
std::string what_was_not_watched(const report::Called& called) {
  if (called.how == "none")
    return "calls were not watched" + (called.reason.empty() ? "" : ": " + called.reason);
  if (called.lost > 0) return fmt::format("{} records of calls were lost", called.lost);
  if (!called.executions || !called.executions_watched)
    return "whether calls were watched in all programs that ran is not known";
  const std::uint64_t going_on = called.executions_going_on.value_or(0);
  const std::string on = going_on > 0 ? fmt::format("; {} {} on after the command's end", going_on,
                                                    going_on == 1 ? "goes" : "go")
                                      : "";
  if (*called.executions == 1) return "not all of its calls could be watched" + on;
  return fmt::format("calls were watched whole in {} of the {} programs that ran{}",
                     *called.executions_watched, *called.executions, on);
}

// A routine that ran all the same: called within its library, or by who keeps its calls from being
// seen. Null: none that was sampled.
const report::SampleShare* sampled_routine(const report::Executed& executed) {
  const auto found = std::find_if(
      executed.by_symbol.begin(), executed.by_symbol.end(), [](const report::SampleShare& share) {
        observe::Routine routine;
        return observe::find_routine(share.name.c_str(), routine) && routine.blas;
      });
  return found != executed.by_symbol.end() ? &*found : nullptr;
}

// A file that may hold a BLAS whose names are gone, and in which work was done. Null: none.
const report::SampleShare* may_hold_blas(const report::Executed& executed,
                                         const Thresholds& thresholds) {
  constexpr std::uint64_t kFew = 1;  // sample: of a short program that is a large share
  if (executed.unnamed_products.empty()) return nullptr;
  const report::SampleShare& most = executed.unnamed_products.front();
  return most.samples > kFew && most.fraction >= thresholds.negligible_share ? &most : nullptr;
}

// "calls within libsolver.so and 2 other files"
std::string calls_within(const std::vector<std::string>& files) {
  std::string text = "calls within " + file_label(files.front());
  if (files.size() == 2) text += " and 1 other file";
  if (files.size() > 2) text += fmt::format(" and {} other files", files.size() - 1);
  return text;
}

void judge_without_blas(const report::BlasEvidence& evidence, const ProviderAtWork& work,
                        const Thresholds& thresholds, RunBlas& result) {
  const bool watched = evidence.called.how != "none";
  const bool inside_program = std::any_of(
      evidence.loaded.begin(), evidence.loaded.end(),
      [](const auto& library) { return library.serves_blas && library.soname.empty(); });
  if (work.other_share >= thresholds.notable_share) {
    result.verdict = VerdictKind::kOtherLibrary;
    if (work.onednn) result.provider = Provider::kOneDnn;
    result.why = fmt::format("the work was done by {}, not by a BLAS", work.other);
    return;
  }
  const report::Called& called = evidence.called;
  if (!work.sampled && (!watched || (inside_program && called.own_routines.empty()))) {
    result.why = watched
                     ? fmt::format("no BLAS call was seen, and {} samples are too few to tell more",
                                   evidence.executed.samples)
                     : fmt::format("{} samples are too few, and {}", evidence.executed.samples,
                                   what_was_not_watched(called));
    result.fix = "run it for longer";
    return;
  }
  if (!called.covers_all()) {
    result.why = fmt::format("{}, but {}",
                             work.sampled ? "no time was spent in a BLAS" : "no BLAS call was seen",
                             what_was_not_watched(called));
    const bool all_others = watched && called.executions_watched && called.lost == 0 &&
                            *called.executions_watched + called.executions_going_on.value_or(0) >=
                                called.executions.value_or(0);
    if (all_others) {
      result.fix = "let the command wait for what it starts";
    } else if (called.how == "audit") {
      result.fix = "run hwprof as root, with --calls-by uprobes";
    }
    return;
  }
  const bool calls_itself = !called.own_routines.empty();
  const std::string unseen =
      calls_itself ? calls_within(called.own_routines) + " are not seen by LD_AUDIT" : "";
  const std::string by_uprobes = calls_itself ? "run hwprof as root, with --calls-by uprobes" : "";
  const report::SampleShare* inside = sampled_routine(evidence.executed);
  if (called.calls.empty() && inside != nullptr) {
    result.why = fmt::format(
        "no BLAS call was seen, but {} in {}{}{}",
        inside->samples == 1 ? "1 sample lies" : fmt::format("{} samples lie", inside->samples),
        inside->library == observe::kKernelCode || inside->library == observe::kFaultCode
            ? "the kernel's work for " + inside->name
            : fmt::format("{} of {}", inside->name, file_label(inside->library)),
        calls_itself ? ": " : "", unseen);
    result.fix = by_uprobes;
    return;
  }
  if (const auto* file = may_hold_blas(evidence.executed, thresholds); file != nullptr) {
    const std::string label = file_label(file->name);
    result.why = fmt::format(
        "no BLAS call {}was seen, but {:.0f} % of the time lies in loops of {} that multiply and "
        "add, and {} does not name their functions: a BLAS may be linked into it",
        called.calls.empty() ? "" : "that does work ", 100 * file->fraction, label, label);
    return;
  }
  if (calls_itself) {
    result.why =
        fmt::format("{}, but {}",
                    work.sampled ? "no time was spent in a BLAS" : "no BLAS call was seen", unseen);
    result.fix = by_uprobes;
    return;
  }
  result.verdict = VerdictKind::kNotCalled;
  result.why = called.calls.empty() ? "no BLAS function was called"
                                    : "no BLAS function was called that does work";
}

}  // namespace

std::vector<report::TimeShare> time_shares(const report::BlasEvidence& evidence,
                                           const ProviderAtWork& work,
                                           std::optional<double> waiting_share) {
  std::vector<report::TimeShare> shares;
  if (!work.sampled) return shares;
  const auto add = [&](const std::string& what, double fraction) {
    const auto samples = static_cast<double>(evidence.executed.samples);
    const Interval interval = share_interval(fraction * samples, samples);
    shares.push_back({what, fraction, interval.low, interval.high});
  };
  if (is_known(work.library.provider)) add("BLAS", work.blas_share);
  if (work.other_share > 0) add(work.other, work.other_share);
  double waiting = 0;
  for (const report::SampleShare& share : evidence.executed.waiting) waiting += share.fraction;
  // Names know of waits in the kernel too, loops of those in stripped files.
  waiting = std::max(waiting, waiting_share.value_or(0));
  if (waiting > 0) add("waiting threads", waiting);
  if (const double faults = fault_share(evidence.executed); faults >= kNotableFaults)
    add("page faults", faults);
  return shares;
}

RunBlas judge_run(const RunEvidence& run, const Thresholds& thresholds) {
  RunBlas result;
  const ProviderAtWork work = provider_at_work(run.evidence, thresholds);
  std::string loss;
  if (!is_known(work.library.provider)) {
    judge_without_blas(run.evidence, work, thresholds, result);
  } else {
    static_cast<report::Blas&>(result) = work.library;
    // A few calls beside the work of another library say nothing of the program's speed.
    if (work.sampled && work.blas_share < thresholds.negligible_share &&
        work.other_share >= thresholds.notable_share) {
      result.verdict = VerdictKind::kOtherLibrary;
      result.why =
          fmt::format("the work was done by {}, not by the BLAS that was called", work.other);
    } else {
      const Evidence evidence = evidence_on(run, work);
      const std::vector<LadderRung> ladder =
          ladder_of_program(run.ladder, work.library, evidence.executed);
      static_cast<Verdict&>(result) = judge(evidence, ladder, thresholds);
      judge_overhead(run, result);
      weigh_by_time(run, evidence, work, ladder, result);
      if (run.attached && result.fix.starts_with("unset ")) {
        result.fix = "restart the process after: " + result.fix;
      }
      loss = loss_of(evidence, result, ladder, thresholds);
    }
  }
  if (is_known(work.library.provider) || result.verdict != VerdictKind::kInconclusive) {
    result.time_shares = time_shares(run.evidence, work, run.waiting_share);
    result.findings = findings(run.evidence, work, loss, thresholds);
    for (std::string& finding : number_findings(run.evidence))
      result.findings.push_back(std::move(finding));
  }
  if (std::string faults = fault_finding(run); !faults.empty())
    result.findings.push_back(std::move(faults));
  if (run.memory.large != nullptr) {
    if (std::string nodes = node_finding(*run.memory.large); !nodes.empty())
      result.findings.push_back(std::move(nodes));
  }
  return result;
}

}  // namespace hwprof::blas
