// The ladder lets each cause be told from the others: as found -> the same core without the other
// variables -> what the library chooses by itself -> its best core -> the best library. A step that
// loses more than the threshold is a cause, and each has its own mend.
#include "src/blas/judge/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace hwprof::blas {
namespace {

using report::InstalledBlas;
using report::LadderRung;
using report::Verdict;
using report::VerdictKind;
using enum report::VerdictKind;

bool ignores(const Identity& identity, const std::string& variable) {
  return std::find(identity.ignored.begin(), identity.ignored.end(), variable) !=
         identity.ignored.end();
}

// The other variables that `provider` reads, but for the number of threads: a rung has one.
std::vector<std::string> other_variables(Provider provider, const Evidence& evidence) {
  std::vector<std::string> names;
  for (const auto& [name, value] : evidence.environment) {
    if (starts_with_any(name, facts(provider).variables) && !forces_core(name) &&
        !name.ends_with("_NUM_THREADS") && !ignores(evidence.library, name)) {
      names.push_back(name);
    }
  }
  return names;
}

std::string assignments(const std::vector<std::string>& names,
                        const std::map<std::string, std::string>& set) {
  std::string text;
  for (const auto& name : names) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " and ", name,
                        set.count(name) != 0 ? set.at(name) : "");
  }
  return text;
}

std::string_view width(VectorClass vectors) { return report::facts(vectors).width; }

// "256-bit kernels", "scalar code"
std::string code_of(VectorClass vectors) {
  return fmt::format("{} {}", width(vectors), vectors == VectorClass::kScalar ? "code" : "kernels");
}

std::string_view in_words(Provider provider) {
  return provider == Provider::kReference ? facts(provider).label : facts(provider).name;
}

// "SkylakeX (512-bit)", "the reference BLAS (scalar)"
std::string name_of(const LadderRung& rung) {
  std::string name = rung.core.empty() ? std::string(in_words(rung.provider)) : rung.core;
  if (rank(rung.vector_class) >= 0) name += fmt::format(" ({})", width(rung.vector_class));
  return name;
}

// "sgemm runs on 256-bit kernels at 0.47 of the FMA peak"
std::string state_of(const LadderRung& rung) {
  const bool known = rank(rung.vector_class) >= 0;
  return fmt::format("sgemm {} {:.2f} of the FMA peak",
                     known ? "runs on " + code_of(rung.vector_class) + " at" : "reaches",
                     *rung.peak_fraction);
}

double times_faster(const LadderRung& fast, const LadderRung& slow) {
  return *fast.peak_fraction / *slow.peak_fraction;
}

// The measured rungs that matter, found once. Pointers into the ladder.
struct Steps {
  const LadderRung* found = nullptr;      // as found
  const LadderRung* same_core = nullptr;  // the same core, no other variable
  const LadderRung* automatic = nullptr;  // what the library chooses by itself
  const LadderRung* best_own = nullptr;   // its fastest
  const LadderRung* best = nullptr;       // fastest of all
};

Steps find_steps(const Evidence& evidence, const std::vector<LadderRung>& ladder) {
  Steps steps;
  const auto measured = [](const LadderRung& rung) { return rung.peak_fraction.value_or(0) > 0; };
  const auto keep_faster = [](const LadderRung*& step, const LadderRung& rung) {
    if (step == nullptr || times_faster(rung, *step) > 1) step = &rung;
  };
  for (const LadderRung& rung : ladder) {
    if (rung.as_found && measured(rung)) steps.found = &rung;
  }
  if (steps.found == nullptr) return steps;
  for (const LadderRung& rung : ladder) {
    if (!measured(rung)) continue;
    keep_faster(steps.best, rung);
    if (rung.library != steps.found->library) continue;
    keep_faster(steps.best_own, rung);
    if (rung.as_found) continue;
    if (rung.setting == "auto") steps.automatic = &rung;
    // Where the library names no core, only a variable that forces one can have changed it.
    if (rung.core == steps.found->core &&
        (!rung.core.empty() || core_variable(rung.provider, evidence).empty())) {
      keep_faster(steps.same_core, rung);
    }
  }
  // Where no other variable can tell the two apart, the slower one was only disturbed.
  if (steps.same_core != nullptr && other_variables(steps.found->provider, evidence).empty()) {
    keep_faster(steps.found, *steps.same_core);
  }
  return steps;
}

// What to do, each advice once.

// Make programs get `path`.
std::string how_to_select(const std::string& path, const std::vector<InstalledBlas>& installed) {
  for (const InstalledBlas& library : installed) {
    if (library.path == path && !library.select.empty()) return "sudo " + library.select;
  }
  return "use " + path;
}

// An installed, threaded OpenBLAS, or the package that has one.
std::string how_to_get_openblas(const Evidence& evidence) {
  for (const InstalledBlas& library : evidence.installed) {
    if (library.provider == Provider::kOpenBlas && library.threaded &&
        library.path != evidence.library.path && !library.select.empty()) {
      return "sudo " + library.select;
    }
  }
  return install_advice();
}

// Where the library itself lacks the kernels or does not know the CPU.
std::string how_to_get_better(Provider provider, const Evidence& evidence) {
  const std::string better = facts(provider).better;
  return better.empty() ? how_to_get_openblas(evidence) : better;
}

struct Explanation {
  std::vector<std::string> causes;
  std::vector<std::string> unset;  // names of variables
  std::vector<std::string> fixes;

  [[nodiscard]] std::string why() const { return fmt::format("{}", fmt::join(causes, "; ")); }
  [[nodiscard]] std::string fix() const {
    std::vector<std::string> all;
    if (!unset.empty()) all.push_back(fmt::format("unset {}", fmt::join(unset, " ")));
    all.insert(all.end(), fixes.begin(), fixes.end());
    return fmt::format("{}", fmt::join(all, "; "));
  }
};

// Who gets the library that is judged.
std::string who_gets(const Evidence& evidence) {
  return evidence.requested.empty() ? "programs get" : "--blas names";
}

void explain_library(const Evidence& evidence, const Steps& steps, Explanation& explanation) {
  const LadderRung& found = *steps.found;
  explanation.causes.push_back(fmt::format("{} {}: {}; {} of {} is {:.1f} times faster on this CPU",
                                           who_gets(evidence), in_words(found.provider),
                                           state_of(found), name_of(*steps.best),
                                           steps.best->library, times_faster(*steps.best, found)));
  explanation.fixes.push_back(evidence.requested.empty()
                                  ? how_to_select(steps.best->library, evidence.installed)
                                  : "--blas " + steps.best->library);
  const std::string variable = core_variable(steps.best->provider, evidence);
  if (!variable.empty()) {
    explanation.causes.push_back(
        fmt::format("{} is set in the environment and would choose the core of that library too",
                    assignments({variable}, evidence.environment)));
    explanation.unset.push_back(variable);
  }
}

void explain_environment(const Evidence& evidence, const Steps& steps, const Thresholds& thresholds,
                         Explanation& explanation) {
  const LadderRung& found = *steps.found;
  const LadderRung& from = steps.same_core != nullptr ? *steps.same_core : found;
  const LadderRung& to = steps.automatic != nullptr ? *steps.automatic : *steps.best_own;
  const std::string variable = core_variable(found.provider, evidence);
  if (!variable.empty() && times_faster(to, from) > thresholds.optimal_factor) {
    explanation.causes.push_back(
        fmt::format("{} is set in the environment: {}; {} is {:.1f} times faster on this CPU",
                    assignments({variable}, evidence.environment), state_of(from), name_of(to),
                    times_faster(to, from)));
    explanation.unset.push_back(variable);
  }
  const auto others = other_variables(found.provider, evidence);
  if (!others.empty() && steps.same_core != nullptr &&
      times_faster(*steps.same_core, found) > thresholds.optimal_factor) {
    explanation.causes.push_back(fmt::format(
        "{} {} set in the environment: sgemm reaches {:.2f} of the FMA peak; the same {} core is "
        "{:.1f} times faster without {}",
        assignments(others, evidence.environment), others.size() == 1 ? "is" : "are",
        *found.peak_fraction, found.core, times_faster(*steps.same_core, found),
        others.size() == 1 ? "it" : "them"));
    explanation.unset.insert(explanation.unset.end(), others.begin(), others.end());
  }
}

void explain_choice(const Evidence& evidence, const Steps& steps, const Thresholds& thresholds,
                    Explanation& explanation) {
  const LadderRung& chosen = steps.automatic != nullptr ? *steps.automatic : *steps.found;
  const LadderRung& best = *steps.best_own;
  if (best.setting.find('=') == std::string::npos ||
      times_faster(best, chosen) <= thresholds.optimal_factor) {
    return;
  }
  explanation.causes.push_back(
      fmt::format("{} {} chooses {} by itself: {}; its {} is {:.1f} times faster on this CPU",
                  in_words(evidence.library.provider), evidence.library.version, name_of(chosen),
                  state_of(chosen), name_of(best), times_faster(best, chosen)));
  // What is exported replaces what is set.
  const std::string name = best.setting.substr(0, best.setting.find('='));
  auto& unset = explanation.unset;
  unset.erase(std::remove(unset.begin(), unset.end(), name), unset.end());
  explanation.fixes.push_back(
      fmt::format("export {}, or {}", best.setting, how_to_get_better(best.provider, evidence)));
}

// The steps may each stay below the threshold that they exceed together.
void explain_rest(const Evidence& evidence, const Steps& steps, Explanation& explanation) {
  explanation.causes.push_back(fmt::format("{}; {} is {:.1f} times faster on this CPU",
                                           state_of(*steps.found), name_of(*steps.best),
                                           times_faster(*steps.best, *steps.found)));
  const std::string& setting = steps.best->setting;
  if (steps.best->library != steps.found->library) {
    explanation.fixes.push_back(how_to_select(steps.best->library, evidence.installed));
  } else if (setting.find('=') != std::string::npos) {
    explanation.fixes.push_back("export " + setting);
  }
  explanation.unset = other_variables(steps.found->provider, evidence);
}

Explanation explain_loss(const Evidence& evidence, const Steps& steps,
                         const Thresholds& thresholds) {
  Explanation explanation;
  if (steps.best != steps.best_own &&
      times_faster(*steps.best, *steps.best_own) > thresholds.optimal_factor) {
    explain_library(evidence, steps, explanation);
    return explanation;
  }
  explain_environment(evidence, steps, thresholds, explanation);
  explain_choice(evidence, steps, thresholds, explanation);
  if (explanation.causes.empty()) explain_rest(evidence, steps, explanation);
  return explanation;
}

// 128 bits at most, on a CPU with more.
bool is_narrow(VectorClass vectors, const std::vector<std::string>& isa) {
  return rank(vectors) >= 0 && rank(vectors) <= rank(VectorClass::kSse) &&
         rank(vectors) < rank(widest_vector_class(isa));
}

Verdict inconclusive(std::string why, std::string fix) {
  return {{}, kInconclusive, std::nullopt, std::move(why), std::move(fix)};
}

// Without a measure. The core that was chosen says which kernels there are; a loop that was sampled
// may be one that only packs. Where no core is known, the loop is all there is.
Verdict judge_by_width(const Evidence& evidence) {
  const Identity& library = evidence.library;
  const VectorClass widest = widest_vector_class(evidence.isa);
  const VectorClass vectors =
      rank(library.vector_class) >= 0 ? library.vector_class : evidence.executed;
  const bool narrow = is_narrow(vectors, evidence.isa);
  if (!evidence.at_work && !narrow) {
    return inconclusive("no core type was measured, and names alone do not tell how fast it is",
                        "run without --no-ladder");
  }
  if (rank(vectors) < 0) {
    return inconclusive(kernels_of(library) +
                            " did the work, but neither its core type nor the vectors that it "
                            "executed are known",
                        "run without --no-ladder, or for longer");
  }
  if (rank(vectors) >= rank(widest)) {
    return {{},
            kOptimal,
            std::nullopt,
            fmt::format("{} did the work: {}, as wide as this CPU has; no core type was measured",
                        kernels_of(library), report::facts(vectors).arithmetic),
            ""};
  }
  Verdict verdict;
  verdict.verdict = narrow ? kUnoptimised : kSuboptimal;
  const std::string on_this_cpu = fmt::format("on a CPU with {} vectors", width(widest));
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
  verdict.fix = how_to_get_better(library.provider, evidence);
  return verdict;
}

// How many times faster something must be to be a loss.
double least_loss(const Evidence& evidence, const Steps& steps, const Thresholds& thresholds) {
  const LadderRung& found = *steps.found;
  const LadderRung& best = *steps.best;
  const bool own_choice = core_variable(found.provider, evidence).empty() &&
                          other_variables(found.provider, evidence).empty();
  const bool same_vectors = found.provider == best.provider && found.core != best.core &&
                            rank(found.vector_class) >= 0 &&
                            found.vector_class == best.vector_class;
  return own_choice && same_vectors
             ? std::max(thresholds.same_vectors_factor, thresholds.optimal_factor)
             : thresholds.optimal_factor;
}

// Nothing here is faster: is it as fast as the CPU allows?
Verdict judge_best(const Evidence& evidence, const Steps& steps, const Thresholds& thresholds) {
  const LadderRung& found = *steps.found;
  const LadderRung& best = *steps.best;
  const VectorClass widest = widest_vector_class(evidence.isa);
  Verdict verdict;
  if (*best.peak_fraction >= thresholds.full_width_fraction ||
      rank(best.vector_class) >= rank(widest)) {
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
  verdict.verdict =
      1 / *best.peak_fraction > thresholds.suboptimal_factor ? kUnoptimised : kSuboptimal;
  verdict.why = fmt::format("{}, on a CPU with {} vectors; nothing installed here is faster",
                            state_of(found), width(widest));
  verdict.fix = how_to_get_better(found.provider, evidence);
  return verdict;
}

// Where the library could not be measured as it is found.
Verdict judge_unmeasured(const Evidence& evidence, const std::vector<LadderRung>& ladder) {
  Verdict verdict = judge_by_width(evidence);
  const auto failed = std::find_if(ladder.begin(), ladder.end(),
                                   [](const LadderRung& rung) { return rung.as_found; });
  if (verdict.verdict != kInconclusive || failed == ladder.end()) return verdict;
  return inconclusive("the library could not be measured as it is found: " + failed->reason, "");
}

void add_ignored_variables(const Evidence& evidence, Verdict& verdict) {
  const auto& ignored = evidence.library.ignored;
  if (ignored.empty()) return;
  const bool one = ignored.size() == 1;
  verdict.why += fmt::format("; {} {} set, but this library does not read {}",
                             assignments(ignored, evidence.environment), one ? "is" : "are",
                             one ? "it" : "them");
}

void add_single_thread(const Evidence& evidence, Verdict& verdict) {
  const Identity& library = evidence.library;
  if (library.threading != "single-threaded" || evidence.pinned_cpus <= 1 ||
      facts(library.provider).threads == 1) {
    return;
  }
  if (verdict.verdict == kOptimal) verdict.verdict = kSuboptimal;
  verdict.why +=
      fmt::format("; this build of {} is single-threaded: only 1 of the {} pinned CPUs works",
                  in_words(library.provider), evidence.pinned_cpus);
  verdict.fix += (verdict.fix.empty() ? "" : "; ") + how_to_get_openblas(evidence);
}

Verdict judge_library(const Evidence& evidence, const std::vector<LadderRung>& ladder,
                      const Thresholds& thresholds) {
  if (!is_known(evidence.library.provider)) {
    return inconclusive("no BLAS could be loaded", install_advice());
  }
  const Steps steps = find_steps(evidence, ladder);
  if (steps.found == nullptr) return judge_unmeasured(evidence, ladder);
  const double factor = times_faster(*steps.best, *steps.found);
  Verdict verdict;
  if (factor > least_loss(evidence, steps, thresholds)) {
    const Explanation explanation = explain_loss(evidence, steps, thresholds);
    verdict = {{},
               factor > thresholds.suboptimal_factor ? kUnoptimised : kSuboptimal,
               factor,
               explanation.why(),
               explanation.fix()};
  } else {
    verdict = judge_best(evidence, steps, thresholds);
    verdict.factor = factor;
  }
  if (is_narrow(steps.found->vector_class, evidence.isa) &&
      *steps.found->peak_fraction < thresholds.full_width_fraction) {
    verdict.verdict = kUnoptimised;
  }
  add_ignored_variables(evidence, verdict);
  add_single_thread(evidence, verdict);
  return verdict;
}

}  // namespace

Verdict judge(const Evidence& evidence, const std::vector<LadderRung>& ladder,
              const Thresholds& thresholds) {
  Verdict verdict = judge_library(evidence, ladder, thresholds);
  static_cast<report::Blas&>(verdict) = evidence.library;
  return verdict;
}

std::string core_variable(Provider provider, const Evidence& evidence) {
  const std::string name = facts(provider).core_variable;
  return !name.empty() && evidence.environment.contains(name) && !ignores(evidence.library, name)
             ? name
             : "";
}

std::string kernels_of(const report::Blas& library) {
  if (library.provider == Provider::kUnknown) return file_label(library.path);
  return std::string(facts(library.provider).label) +
         (library.core.empty() ? "" : " " + library.core + " kernels");
}

std::string file_label(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.find(".so"));
}

}  // namespace hwprof::blas
