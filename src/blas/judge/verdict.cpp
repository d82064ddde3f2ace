// The ladder lets each cause be told from the others: as found -> the same core without the other
// variables -> what the library chooses by itself -> its best core -> the best library. A step that
// loses more than the threshold is a cause, and each has its own mend.
#include "src/blas/judge/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "src/blas/judge/joined.h"
#include "src/blas/providers/core_types.h"

namespace hwprof::blas {
namespace {

using report::LadderRung;

constexpr const char* kInstall = "apt install libopenblas0-pthread";

bool ignores(const Identity& identity, const std::string& variable) {
  return std::find(identity.ignored.begin(), identity.ignored.end(), variable) !=
         identity.ignored.end();
}

// The variable that forces a core type of `provider`, if it is set.
std::optional<std::string> core_variable(const std::string& provider, const VerdictInput& input) {
  for (const auto& variables : kProviderVariables) {
    if (variables.provider == provider && input.environment.contains(variables.core) &&
        !ignores(*input.identity, variables.core)) {
      return variables.core;
    }
  }
  return std::nullopt;
}

// The other variables that `provider` reads, but for the number of threads: a rung has one.
std::vector<std::string> other_variables(const std::string& provider, const VerdictInput& input) {
  std::vector<std::string> names;
  for (const auto& variables : kProviderVariables) {
    if (variables.provider != provider) continue;
    for (const auto& [name, value] : input.environment) {
      if (name.starts_with(variables.prefix) && name != variables.core &&
          !name.ends_with("_NUM_THREADS") && !ignores(*input.identity, name)) {
        names.push_back(name);
      }
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

std::string width(const std::string& vector_class) {
  if (vector_class == "avx512") return "512-bit";
  if (vector_class == "avx2") return "256-bit";
  if (vector_class == "avx") return "256-bit without FMA";
  if (vector_class == "sse" || vector_class == "neon") return "128-bit";
  if (vector_class == "sve") return "SVE";
  return vector_class;  // "scalar" or ""
}

// "SkylakeX (512-bit)", "the reference BLAS (scalar)"
std::string name_of(const LadderRung& rung) {
  std::string name = !rung.core.empty()             ? rung.core
                     : rung.provider == "reference" ? "the reference BLAS"
                                                    : rung.provider;
  const std::string bits = width(rung.vector_class);
  return bits.empty() ? name : fmt::format("{} ({})", name, bits);
}

// "sgemm runs on 256-bit kernels at 0.47 of the FMA peak"
std::string state_of(const LadderRung& rung) {
  const std::string bits = width(rung.vector_class);
  if (bits.empty()) return fmt::format("sgemm reaches {:.2f} of the FMA peak", *rung.peak_fraction);
  return fmt::format("sgemm runs on {} {} at {:.2f} of the FMA peak", bits,
                     bits == "scalar" ? "code" : "kernels", *rung.peak_fraction);
}

double times_faster(const LadderRung& fast, const LadderRung& slow) {
  return *fast.peak_fraction / *slow.peak_fraction;
}

// The measured rungs that matter, found once. Pointers into the input.
struct Steps {
  const LadderRung* found = nullptr;      // as found
  const LadderRung* same_core = nullptr;  // the same core, no other variable
  const LadderRung* automatic = nullptr;  // what the library chooses by itself
  const LadderRung* best_own = nullptr;   // its fastest
  const LadderRung* best = nullptr;       // fastest of all
};

Steps find_steps(const VerdictInput& input) {
  Steps steps;
  const auto measured = [](const LadderRung& rung) { return rung.peak_fraction.value_or(0) > 0; };
  const auto keep_faster = [](const LadderRung*& step, const LadderRung& rung) {
    if (step == nullptr || times_faster(rung, *step) > 1) step = &rung;
  };
  for (const LadderRung& rung : input.ladder) {
    if (rung.as_found && measured(rung)) steps.found = &rung;
  }
  if (steps.found == nullptr) return steps;
  for (const LadderRung& rung : input.ladder) {
    if (!measured(rung)) continue;
    keep_faster(steps.best, rung);
    if (rung.library != steps.found->library) continue;
    keep_faster(steps.best_own, rung);
    if (rung.as_found) continue;
    if (rung.setting == "auto") steps.automatic = &rung;
    // Where the library names no core, only a variable that forces one can have changed it.
    if (rung.core == steps.found->core &&
        (!rung.core.empty() || !core_variable(rung.provider, input))) {
      keep_faster(steps.same_core, rung);
    }
  }
  // Where no other variable can tell the two apart, the slower one was only disturbed.
  if (steps.same_core != nullptr && other_variables(steps.found->provider, input).empty()) {
    keep_faster(steps.found, *steps.same_core);
  }
  return steps;
}

// How to make programs get `path`.
std::string how_to_select(const std::string& path, const std::vector<InstalledBlas>& installed) {
  for (const InstalledBlas& library : installed) {
    if (library.path == path && !library.select.empty()) return "sudo " + library.select;
  }
  return "use " + path;
}

// An installed, threaded OpenBLAS, or the package that has one.
std::string how_to_get_openblas(const VerdictInput& input) {
  for (const InstalledBlas& library : input.installed) {
    if (library.file.provider == "openblas" && library.file.threaded &&
        library.path != input.path && !library.select.empty()) {
      return "sudo " + library.select;
    }
  }
  return kInstall;
}

// Where the library itself lacks the kernels or does not know the CPU.
std::string how_to_get_better(const std::string& provider, const VerdictInput& input) {
  if (provider == "openblas") return "install a newer OpenBLAS, one that knows this CPU";
  return how_to_get_openblas(input);
}

struct Explanation {
  std::vector<std::string> causes;
  std::vector<std::string> unset;  // names of variables
  std::vector<std::string> fixes;

  [[nodiscard]] std::string why() const { return joined(causes, "; "); }
  [[nodiscard]] std::string fix() const {
    std::vector<std::string> all;
    if (!unset.empty()) all.push_back("unset " + joined(unset, " "));
    all.insert(all.end(), fixes.begin(), fixes.end());
    return joined(all, "; ");
  }
};

// Who gets the library that is judged.
std::string who_gets(const VerdictInput& input) {
  return input.requested.empty() ? "programs get" : "--blas names";
}

void explain_library(const VerdictInput& input, const Steps& steps, Explanation& explanation) {
  const LadderRung& found = *steps.found;
  explanation.causes.push_back(fmt::format(
      "{} {}: {}; {} of {} is {:.1f} times faster on this CPU", who_gets(input),
      found.provider == "reference" ? "the reference BLAS" : found.provider, state_of(found),
      name_of(*steps.best), steps.best->library, times_faster(*steps.best, found)));
  explanation.fixes.push_back(input.requested.empty()
                                  ? how_to_select(steps.best->library, input.installed)
                                  : "--blas " + steps.best->library);
  if (const auto variable = core_variable(steps.best->provider, input)) {
    explanation.causes.push_back(
        fmt::format("{} is set in the environment and would choose the core of that library too",
                    assignments({*variable}, input.environment)));
    explanation.unset.push_back(*variable);
  }
}

void explain_environment(const VerdictInput& input, const Steps& steps,
                         const Thresholds& thresholds, Explanation& explanation) {
  const LadderRung& found = *steps.found;
  const LadderRung& from = steps.same_core != nullptr ? *steps.same_core : found;
  const LadderRung& to = steps.automatic != nullptr ? *steps.automatic : *steps.best_own;
  const auto variable = core_variable(found.provider, input);
  if (variable && times_faster(to, from) > thresholds.optimal_factor) {
    explanation.causes.push_back(
        fmt::format("{} is set in the environment: {}; {} is {:.1f} times faster on this CPU",
                    assignments({*variable}, input.environment), state_of(from), name_of(to),
                    times_faster(to, from)));
    explanation.unset.push_back(*variable);
  }
  const auto others = other_variables(found.provider, input);
  if (!others.empty() && steps.same_core != nullptr &&
      times_faster(*steps.same_core, found) > thresholds.optimal_factor) {
    explanation.causes.push_back(fmt::format(
        "{} {} set in the environment: sgemm reaches {:.2f} of the FMA peak; the same {} core is "
        "{:.1f} times faster without {}",
        assignments(others, input.environment), others.size() == 1 ? "is" : "are",
        *found.peak_fraction, found.core, times_faster(*steps.same_core, found),
        others.size() == 1 ? "it" : "them"));
    explanation.unset.insert(explanation.unset.end(), others.begin(), others.end());
  }
}

void explain_choice(const VerdictInput& input, const Steps& steps, const Thresholds& thresholds,
                    Explanation& explanation) {
  const LadderRung& chosen = steps.automatic != nullptr ? *steps.automatic : *steps.found;
  const LadderRung& best = *steps.best_own;
  if (best.setting.find('=') == std::string::npos ||
      times_faster(best, chosen) <= thresholds.optimal_factor) {
    return;
  }
  explanation.causes.push_back(
      fmt::format("{} {} chooses {} by itself: {}; its {} is {:.1f} times faster on this CPU",
                  input.identity->provider, input.identity->version, name_of(chosen),
                  state_of(chosen), name_of(best), times_faster(best, chosen)));
  // What is exported replaces what is set.
  const std::string name = best.setting.substr(0, best.setting.find('='));
  auto& unset = explanation.unset;
  unset.erase(std::remove(unset.begin(), unset.end(), name), unset.end());
  explanation.fixes.push_back(
      fmt::format("export {}, or {}", best.setting, how_to_get_better(best.provider, input)));
}

// The steps may each stay below the threshold that they exceed together.
void explain_rest(const VerdictInput& input, const Steps& steps, Explanation& explanation) {
  explanation.causes.push_back(fmt::format("{}; {} is {:.1f} times faster on this CPU",
                                           state_of(*steps.found), name_of(*steps.best),
                                           times_faster(*steps.best, *steps.found)));
  const std::string& setting = steps.best->setting;
  if (steps.best->library != steps.found->library) {
    explanation.fixes.push_back(how_to_select(steps.best->library, input.installed));
  } else if (setting.find('=') != std::string::npos) {
    explanation.fixes.push_back("export " + setting);
  }
  explanation.unset = other_variables(steps.found->provider, input);
}

Explanation explain_loss(const VerdictInput& input, const Steps& steps,
                         const Thresholds& thresholds) {
  Explanation explanation;
  if (steps.best != steps.best_own &&
      times_faster(*steps.best, *steps.best_own) > thresholds.optimal_factor) {
    explain_library(input, steps, explanation);
    return explanation;
  }
  explain_environment(input, steps, thresholds, explanation);
  explain_choice(input, steps, thresholds, explanation);
  if (explanation.causes.empty()) explain_rest(input, steps, explanation);
  return explanation;
}

bool is_narrow(const std::string& vector_class, const std::vector<std::string>& isa) {
  const int rank = vector_rank(vector_class);
  const int widest = vector_rank(widest_vector_class(isa));
  return rank >= 0 && rank <= vector_rank("sse") &&
         (widest >= vector_rank("avx2") || rank < widest);
}

Verdict inconclusive(std::string why, std::string fix) {
  return {"inconclusive", std::nullopt, std::move(why), std::move(fix)};
}

Verdict judge_by_identity(const VerdictInput& input) {
  const Identity& identity = *input.identity;
  const std::string vector_class = vector_class_of(identity.provider, identity.core);
  if (!is_narrow(vector_class, input.isa)) {
    return inconclusive("no core type was measured, and names alone do not tell how fast it is",
                        "run without --no-ladder");
  }
  Verdict verdict;
  verdict.verdict = "unoptimised";
  const std::string code = vector_class == "scalar" ? "scalar code" : "128-bit kernels";
  const std::string widest = width(widest_vector_class(input.isa));
  const auto variable = core_variable(identity.provider, input);
  if (identity.provider == "reference") {
    verdict.why = fmt::format("{} the reference BLAS: {} on a CPU with {} vectors", who_gets(input),
                              code, widest);
    verdict.fix = how_to_get_openblas(input);
  } else if (variable) {
    verdict.why = fmt::format(
        "{} is set in the environment: {} of the {} core on a CPU with {} "
        "vectors",
        assignments({*variable}, input.environment), code, identity.core, widest);
    verdict.fix = "unset " + *variable;
  } else {
    verdict.why = fmt::format("{} {} chooses its {} core by itself: {} on a CPU with {} vectors",
                              identity.provider, identity.version, identity.core, code, widest);
    verdict.fix = how_to_get_better(identity.provider, input);
  }
  return verdict;
}

// How many times faster something must be to be a loss.
double least_loss(const VerdictInput& input, const Steps& steps, const Thresholds& thresholds) {
  const LadderRung& found = *steps.found;
  const LadderRung& best = *steps.best;
  const bool own_choice =
      !core_variable(found.provider, input) && other_variables(found.provider, input).empty();
  const bool same_vectors = found.provider == best.provider && found.core != best.core &&
                            !found.vector_class.empty() && found.vector_class == best.vector_class;
  return own_choice && same_vectors
             ? std::max(thresholds.same_vectors_factor, thresholds.optimal_factor)
             : thresholds.optimal_factor;
}

// Nothing here is faster: is it as fast as the CPU allows?
Verdict judge_best(const VerdictInput& input, const Steps& steps, const Thresholds& thresholds) {
  const LadderRung& found = *steps.found;
  const LadderRung& best = *steps.best;
  const std::string widest = widest_vector_class(input.isa);
  Verdict verdict;
  if (*best.peak_fraction >= thresholds.full_width_fraction ||
      vector_rank(best.vector_class) >= vector_rank(widest)) {
    verdict.verdict = "optimal";
    verdict.why = fmt::format("{}; nothing measured here is over {:.1f} times faster",
                              state_of(found), least_loss(input, steps, thresholds));
    const auto variable = core_variable(found.provider, input);
    if (variable && !found.core.empty() && steps.automatic != nullptr &&
        steps.automatic->core == found.core &&
        find_core_type(found.provider, input.environment.at(*variable)) == nullptr) {
      verdict.why += fmt::format("; {} names no core type of this library and is ignored",
                                 assignments({*variable}, input.environment));
    }
    return verdict;
  }
  verdict.verdict =
      1 / *best.peak_fraction > thresholds.suboptimal_factor ? "unoptimised" : "suboptimal";
  verdict.why = fmt::format("{}, on a CPU with {} vectors; nothing installed here is faster",
                            state_of(found), width(widest));
  verdict.fix = how_to_get_better(found.provider, input);
  return verdict;
}

}  // namespace

Verdict judge(const VerdictInput& input, const Thresholds& thresholds) {
  if (!input.identity) {
    return inconclusive("no BLAS could be loaded", kInstall);
  }
  const Steps steps = find_steps(input);
  if (steps.found == nullptr) {
    Verdict verdict = judge_by_identity(input);
    for (const LadderRung& rung : input.ladder) {
      if (!rung.as_found || verdict.verdict != "inconclusive") continue;
      verdict.why = "the library could not be measured as it is found: " + rung.reason;
      verdict.fix = "";
    }
    return verdict;
  }
  const double factor = times_faster(*steps.best, *steps.found);
  Verdict verdict;
  if (factor > least_loss(input, steps, thresholds)) {
    const Explanation explanation = explain_loss(input, steps, thresholds);
    verdict = {factor > thresholds.suboptimal_factor ? "unoptimised" : "suboptimal", factor,
               explanation.why(), explanation.fix()};
  } else {
    verdict = judge_best(input, steps, thresholds);
    verdict.factor = factor;
  }
  if (is_narrow(steps.found->vector_class, input.isa) &&
      *steps.found->peak_fraction < thresholds.full_width_fraction) {
    verdict.verdict = "unoptimised";
  }
  if (const auto& ignored = input.identity->ignored; !ignored.empty()) {
    verdict.why += fmt::format(
        "; {} {} set, but this library does not read {}", assignments(ignored, input.environment),
        ignored.size() == 1 ? "is" : "are", ignored.size() == 1 ? "it" : "them");
  }
  if (input.identity->threading == "single-threaded" && input.pinned_cpus > 1 &&
      input.identity->provider != "reference") {
    if (verdict.verdict == "optimal") verdict.verdict = "suboptimal";
    verdict.why += fmt::format(
        "; this build of {} is single-threaded: only 1 of the {} pinned "
        "CPUs works",
        input.identity->provider, input.pinned_cpus);
    verdict.fix += (verdict.fix.empty() ? "" : "; ") + how_to_get_openblas(input);
  }
  return verdict;
}

}  // namespace hwprof::blas
