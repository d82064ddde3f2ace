#include "src/blas/judge/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "src/blas/judge/advice.h"
#include "src/blas/judge/explain.h"
#include "src/blas/judge/steps.h"
#include "src/blas/judge/words.h"

namespace hwprof::blas {
namespace {

using report::LadderRung;
using report::Verdict;
using enum report::VerdictKind;

// 128 bits at most, on a CPU with more.
bool is_narrow(VectorClass vectors, const std::vector<std::string>& isa) {
  return rank(vectors) >= 0 && rank(vectors) <= rank(VectorClass::kSse) &&
         rank(vectors) < rank(widest_vector_class(isa));
}

Verdict inconclusive(std::string why, std::string fix) {
  Verdict verdict;
  verdict.why = std::move(why);
  verdict.fix = std::move(fix);
  return verdict;
}

// Without a measure. The core that was chosen says which kernels there are; a loop that was sampled
// may be one that only packs. Where no core is known, the loop is all there is.
Verdict judge_by_width(const Evidence& evidence, const Thresholds& thresholds) {
  const Identity& library = evidence.library;
  const VectorClass widest = widest_vector_class(evidence.cpu.isa);
  const VectorClass vectors =
      rank(library.vector_class) >= 0 ? library.vector_class : evidence.executed;
  const bool narrow = is_narrow(vectors, evidence.cpu.isa);
  if (evidence.achieved_fraction.value_or(0) >= thresholds.full_width_fraction) {
    Verdict fast;
    fast.verdict = kOptimal;
    fast.why = fmt::format("{} did the work, and its calls reached {:.2f} of the FMA peak",
                           kernels_of(library), *evidence.achieved_fraction);
    return fast;
  }
  if (!evidence.at_work && !narrow) {
    return inconclusive("it was compared with no other, and names alone do not tell how fast it is",
                        evidence.surer);
  }
  if (rank(vectors) < 0) {
    return inconclusive(kernels_of(library) +
                            " did the work, but neither its core type nor the vectors that it "
                            "executed are known",
                        evidence.surer);
  }
  if (rank(vectors) >= rank(widest)) {
    return inconclusive(fmt::format("widest kernels, speed unknown: {} did the work with {}, and "
                                    "neither a core type nor its calls were compared{}",
                                    kernels_of(library), report::facts(vectors).arithmetic,
                                    evidence.achieved_fraction
                                        ? fmt::format("; the calls reached {:.2f} of the FMA peak",
                                                      *evidence.achieved_fraction)
                                        : ""),
                        evidence.surer);
  }
  Verdict verdict;
  verdict.verdict = narrow ? kUnoptimised : kSuboptimal;
  const std::string on_this_cpu =
      fmt::format("on a CPU with {} vectors", report::facts(widest).width);
  const std::string variable = core_variable(library.provider, evidence);
  if (!variable.empty()) {
    verdict.why =
        fmt::format("{} is set in the environment: {}{} {}",
                    assignments({variable}, evidence.environment), code_of(vectors),
                    library.core.empty() ? "" : " of the " + library.core + " core", on_this_cpu);
    verdict.fix = "unset " + variable;
    return verdict;
  }
  const std::string subject =
      !library.core.empty() ? fmt::format("{} {} chooses its {} core by itself",
                                          in_words(library.provider), library.version, library.core)
      : evidence.at_work    ? kernels_of(library) + " did the work"
                            : fmt::format("{} {}", who_gets(evidence), in_words(library.provider));
  verdict.why = fmt::format("{}: {} {}", subject, code_of(vectors), on_this_cpu);
  const std::string cause =
      why_core(library.provider, library.version, library.vector_class, evidence.cpu);
  if (!cause.empty()) verdict.why += "; " + cause;
  verdict.fix = how_to_get_better(library.provider, evidence);
  return verdict;
}

// How many times faster something must be to be a loss.
double least_loss(const Evidence& evidence, const Steps& steps, const Thresholds& thresholds) {
  const LadderRung& found = *steps.found;
  const LadderRung& best = *steps.best;
  const bool own_choice = core_variable(found.provider, evidence).empty() &&
                          other_variables(found.provider, evidence).empty();
  const bool as_wide = found.provider == best.provider && found.core != best.core &&
                       rank(best.vector_class) >= 0 &&
                       rank(found.vector_class) >= rank(best.vector_class);
  return own_choice && as_wide ? std::max(thresholds.own_choice_factor, thresholds.optimal_factor)
                               : thresholds.optimal_factor;
}

// Of a square product; where the library has no sgemm_, of the program's calls.
Speed own_speed(const LadderRung& rung) {
  if (!rung.peak_fraction) return speed_of(rung);
  return {*rung.peak_fraction, rung.peak_fraction_low, rung.peak_fraction_high};
}
double low(const LadderRung& rung) {
  const Speed speed = own_speed(rung);
  return speed.low.value_or(speed.value);
}
double high(const LadderRung& rung) {
  const Speed speed = own_speed(rung);
  return speed.high.value_or(speed.value);
}

// "0.52 to 0.58"
std::string range(double from, double to) { return fmt::format("{:.2f} to {:.2f}", from, to); }

// An OpenBLAS that was measured and is no faster than what is judged is no advice.
bool openblas_is_no_better(const std::vector<LadderRung>& ladder) {
  return std::any_of(ladder.begin(), ladder.end(), [](const LadderRung& rung) {
    return rung.provider == Provider::kOpenBlas && !rung.as_found && rung.peak_fraction;
  });
}

// Nothing here is faster at the program's own calls, among them what is fast at large products: it
// is these calls that allow no more.
bool calls_allow_no_more(const Steps& steps, const std::vector<LadderRung>& ladder,
                         const Thresholds& thresholds) {
  return steps.found->calls_fraction &&
         std::any_of(ladder.begin(), ladder.end(), [&](const LadderRung& rung) {
           return rung.calls_fraction && rung.peak_fraction &&
                  low(rung) >= thresholds.full_width_fraction;
         });
}

// Nothing here is faster: is it as fast as the CPU allows?
Verdict judge_best(const Evidence& evidence, const Steps& steps,
                   const std::vector<LadderRung>& ladder, const Thresholds& thresholds) {
  const LadderRung& found = *steps.found;
  const LadderRung& best = *steps.best;
  const VectorClass widest = widest_vector_class(evidence.cpu.isa);
  Verdict verdict;
  if (low(best) >= thresholds.full_width_fraction ||
      calls_allow_no_more(steps, ladder, thresholds)) {
    verdict.verdict = kOptimal;
    verdict.why = fmt::format("{}; nothing measured here is over {:.1f} times faster",
                              state_of(found), least_loss(evidence, steps, thresholds));
    const std::string variable = core_variable(found.provider, evidence);
    if (!variable.empty() && !found.core.empty() && steps.automatic != nullptr &&
        steps.automatic->core == found.core &&
        find_core_type(found.provider, evidence.environment.at(variable)) == nullptr) {
      verdict.why += fmt::format("; {} names no core type of this library and is ignored",
                                 assignments({variable}, evidence.environment));
    }
    return verdict;
  }
  if (high(best) >= thresholds.full_width_fraction) {
    verdict.verdict = kBorderline;
    verdict.why = fmt::format(
        "{} {} of the FMA peak; {:.2f} is where kernels of the "
        "widest vectors begin, and nothing measured here is faster",
        best.peak_fraction ? "sgemm reaches" : "its calls reach", range(low(best), high(best)),
        thresholds.full_width_fraction);
    return verdict;
  }
  verdict.verdict = 1 / high(best) > thresholds.suboptimal_factor ? kUnoptimised : kSuboptimal;
  const bool as_wide = rank(best.vector_class) >= rank(widest);
  verdict.why = fmt::format("{}, on a CPU with {} vectors; nothing measured here is faster",
                            state_of(found), report::facts(widest).width);
  if (!as_wide && !(facts(found.provider).better[0] == '\0' && openblas_is_no_better(ladder))) {
    verdict.fix = how_to_get_better(found.provider, evidence);
  }
  return verdict;
}

// Between the two words.
Verdict judge_borderline(const Steps& steps, const Ratio& ratio, double threshold) {
  Verdict verdict;
  verdict.verdict = kBorderline;
  verdict.why = fmt::format(
      "{}; {} is {} times faster {}, and {:.1f} is where a loss begins: {}", state_of(*steps.found),
      in_words(*steps.best), ratio.known ? range(ratio.low, ratio.high) : two_digits(ratio.value),
      measured_with(*steps.best), threshold,
      ratio.known ? "measure again on a quieter machine"
                  : "too few blocks were measured for an interval; give it more time, or a quieter "
                    "machine");
  return verdict;
}

// Where the library could not be measured as it is found.
Verdict judge_unmeasured(const Evidence& evidence, const std::vector<LadderRung>& ladder,
                         const Thresholds& thresholds) {
  Verdict verdict = judge_by_width(evidence, thresholds);
  const auto failed = std::find_if(ladder.begin(), ladder.end(),
                                   [](const LadderRung& rung) { return rung.as_found; });
  if (verdict.verdict != kInconclusive || failed == ladder.end()) return verdict;
  return inconclusive("the library could not be measured as it is found: " + failed->reason, "");
}

void add_fix(const std::string& fix, Verdict& verdict) {
  if (verdict.fix.find(fix) != std::string::npos) return;
  verdict.fix += (verdict.fix.empty() ? "" : "; ") + fix;
}

void add_ignored_variables(const Evidence& evidence, Verdict& verdict) {
  const auto& ignored = evidence.library.ignored;
  if (ignored.empty()) return;
  const bool one = ignored.size() == 1;
  verdict.why += fmt::format("; {} {} set, but this library does not read {}",
                             assignments(ignored, evidence.environment), one ? "is" : "are",
                             one ? "it" : "them");
}

// What the hypervisor hides, no library can use.
void add_hidden(const Evidence& evidence, Verdict& verdict) {
  const std::string odd = odd_about(evidence.cpu);
  if (!odd.empty() && verdict.why.find(odd) == std::string::npos) verdict.why += "; " + odd;
}

// Variables that allow fewer threads than there are CPUs.
std::vector<std::string> thread_limits(const Evidence& evidence) {
  std::vector<std::string> names;
  const bool any = facts(evidence.library.provider).wraps;
  for (const auto& [name, value] : evidence.environment) {
    const bool reads = any || name.starts_with("OMP_") ||
                       starts_with_any(name, facts(evidence.library.provider).variables);
    if (!counts_threads(name) || !reads) continue;
    unsigned threads = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), threads);
    if (parsed.ec == std::errc() && threads > 0 && threads < evidence.cpus) names.push_back(name);
  }
  return names;
}

// One rule for all commands: a BLAS that leaves CPUs idle is not optimal where it is known why.
void add_threads(const Evidence& evidence, Verdict& verdict) {
  const Identity& library = evidence.library;
  if (evidence.cpus <= 1 || facts(library.provider).threads == 1) return;
  if (library.threading == "single-threaded") {
    verdict.why += fmt::format("; this build of {} is single-threaded: only 1 of the {} CPUs works",
                               in_words(library.provider), evidence.cpus);
    add_fix(how_to_get_openblas(evidence), verdict);
  } else {
    const auto limits = thread_limits(evidence);
    if (limits.empty() || !evidence.threads ||
        static_cast<std::size_t>(*evidence.threads) >= evidence.cpus) {
      return;
    }
    verdict.why +=
        fmt::format("; {} {} set in the environment: only {} of the {} CPUs work{}",
                    assignments(limits, evidence.environment), limits.size() == 1 ? "is" : "are",
                    *evidence.threads, evidence.cpus, *evidence.threads == 1 ? "s" : "");
    add_fix(fmt::format("unset {}", fmt::join(limits, " ")), verdict);
  }
  if (verdict.verdict == kOptimal || verdict.verdict == kBorderline) verdict.verdict = kSuboptimal;
}

// Speed does not matter then.
Verdict judge_wrong(const Evidence& evidence, const Steps& steps) {
  const LadderRung& found = *steps.found;
  Verdict verdict;
  verdict.verdict = kWrongResults;
  const std::string& wrong = found.results.wrong;
  const std::string routine = wrong.substr(0, wrong.find(','));
  verdict.why =
      fmt::format("{} of {}{}{}{}", routine, in_words(found.provider),
                  found.version.empty() ? "" : " " + found.version,
                  found.core.empty() ? "" : " " + found.core, wrong.substr(routine.size()));
  const std::string variable = core_variable(found.provider, evidence);
  if (steps.automatic != nullptr && !variable.empty()) {
    verdict.fix = "unset " + variable;
  } else if (steps.best != nullptr && steps.best != steps.found) {
    verdict.fix = steps.best->library == found.library ? "export " + steps.best->setting
                                                       : how_to_select(*steps.best, evidence);
  } else {
    verdict.fix = install_advice();
  }
  return verdict;
}

// Those that the library reads, but for the number of threads.
std::vector<std::string> shaping_variables(const Evidence& evidence) {
  const Provider provider = evidence.library.provider;
  std::vector<std::string> names = other_variables(provider, evidence);
  if (std::string core = core_variable(provider, evidence); !core.empty()) {
    names.push_back(std::move(core));
  }
  return names;
}

// The word for a loss is the one that its whole interval bears out.
Verdict judge_measured(const Evidence& evidence, const Steps& steps,
                       const std::vector<LadderRung>& ladder, const Thresholds& thresholds) {
  const Ratio ratio = times_faster(*steps.best, *steps.found);
  const double threshold = least_loss(evidence, steps, thresholds);
  // By the median: kernels of half the width cannot reach that fraction, however wide the interval
  // of a busy machine.
  const bool narrow = is_narrow(steps.found->vector_class, evidence.cpu.isa) &&
                      steps.found->peak_fraction.value_or(0) < thresholds.full_width_fraction;
  Verdict verdict;
  if (ratio.low > threshold) {
    verdict = explain_loss(evidence, steps, thresholds);
    verdict.verdict = ratio.low > thresholds.suboptimal_factor ? kUnoptimised : kSuboptimal;
  } else if (ratio.high > threshold && !narrow) {
    verdict = judge_borderline(steps, ratio, threshold);
  } else {
    verdict = judge_best(evidence, steps, ladder, thresholds);
  }
  if (narrow && !(verdict.verdict == kOptimal && steps.found->calls_fraction)) {
    verdict.verdict = kUnoptimised;
    if (verdict.fix.empty() && !openblas_is_no_better(ladder))
      verdict.fix = how_to_get_better(steps.found->provider, evidence);
  }
  const auto measured = std::count_if(ladder.begin(), ladder.end(), [](const LadderRung& rung) {
    return speed_of(rung).value > 0;
  });
  const auto set = shaping_variables(evidence);
  if (measured == 1 && verdict.verdict == kOptimal && !set.empty()) {
    verdict.verdict = kBorderline;
    verdict.why = fmt::format("{}; {} {} set, and nothing was measured without: give it more time",
                              state_of(*steps.found), assignments(set, evidence.environment),
                              set.size() == 1 ? "is" : "are");
  }
  if (measured > 1) {  // a factor is measured or absent
    verdict.factor = ratio.value;
    if (ratio.known && ratio.low < ratio.high) {
      verdict.factor_low = ratio.low;
      verdict.factor_high = ratio.high;
    }
  }
  add_ignored_variables(evidence, verdict);
  add_hidden(evidence, verdict);
  add_threads(evidence, verdict);
  return verdict;
}

Verdict judge_library(const Evidence& evidence, const std::vector<LadderRung>& ladder,
                      const Thresholds& thresholds) {
  if (!is_known(evidence.library.provider)) {
    Verdict verdict;
    verdict.verdict = kMissing;
    verdict.why = "the loader finds none; a program has one only where it brings it along";
    const auto own = std::find_if(ladder.begin(), ladder.end(), [](const LadderRung& rung) {
      return rung.own && rung.peak_fraction;
    });
    if (own != ladder.end())
      verdict.why += fmt::format(
          "; OpenBLAS {} {}, which is not installed and was measured, reaches {:.2f} of the FMA "
          "peak",
          own->version, own->core, *own->peak_fraction);
    verdict.fix = install_advice();
    return verdict;
  }
  const Steps steps = find_steps(evidence, ladder);
  if (steps.found == nullptr) return judge_unmeasured(evidence, ladder, thresholds);
  if (!steps.found->results.right.value_or(true)) return judge_wrong(evidence, steps);
  return judge_measured(evidence, steps, ladder, thresholds);
}

}  // namespace

Verdict judge(const Evidence& evidence, const std::vector<LadderRung>& ladder,
              const Thresholds& thresholds) {
  Verdict verdict = judge_library(evidence, ladder, thresholds);
  static_cast<report::Blas&>(verdict) = evidence.library;
  return verdict;
}

}  // namespace hwprof::blas
