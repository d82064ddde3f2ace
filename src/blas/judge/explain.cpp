#include "src/blas/judge/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/blas/judge/advice.h"
#include "src/blas/judge/words.h"

namespace hwprof::blas {
namespace {

using report::LadderRung;

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

// "Cooperlake (512-bit) of /usr/lib/libopenblas.so.0", or what no program here can get.
std::string with_library(const LadderRung& rung) {
  if (!rung.own) return fmt::format("{} of {}", in_words(rung), rung.library);
  return fmt::format("{} of OpenBLAS {}, which is not installed and was measured beside it,",
                     in_words(rung), rung.version);
}

void explain_library(const Evidence& evidence, const Steps& steps, Explanation& explanation) {
  const LadderRung& found = *steps.found;
  const LadderRung& best = *steps.best;
  const std::string variable_of_loader = deciding_variable(evidence);
  explanation.causes.push_back(fmt::format(
      "{} {}{}: {}; {} is {} times faster {}", who_gets(evidence), in_words(evidence.library),
      variable_of_loader.empty() ? "" : " from " + variable_of_loader, state_of(found),
      with_library(best), two_digits(times_faster(best, found).value), measured_with(best)));
  explanation.fixes.push_back(evidence.requested.empty() || best.own ? how_to_select(best, evidence)
                                                                     : "--blas " + best.library);
  // That core is not what the library chooses by itself: its rung was measured to be slower.
  if (best.setting.find('=') != std::string::npos) {
    explanation.fixes.push_back("export " + best.setting);
    return;
  }
  const std::string variable = core_variable(best.provider, evidence);
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
  if (!variable.empty() && times_faster(to, from).value > thresholds.optimal_factor) {
    explanation.causes.push_back(
        fmt::format("{} is set in the environment: {}; {} is {} times faster {}",
                    assignments({variable}, evidence.environment), state_of(from), in_words(to),
                    two_digits(times_faster(to, from).value), measured_with(to)));
    explanation.unset.push_back(variable);
  }
  const auto others = other_variables(found.provider, evidence);
  if (!others.empty() && steps.same_core != nullptr &&
      times_faster(*steps.same_core, found).value > thresholds.optimal_factor) {
    explanation.causes.push_back(fmt::format(
        "{} {} set in the environment: sgemm reaches {:.2f} of the FMA peak; {} is {} times "
        "faster without {}",
        assignments(others, evidence.environment), others.size() == 1 ? "is" : "are",
        *found.peak_fraction,
        found.core.empty() ? "it" : fmt::format("the same {} core", found.core),
        two_digits(times_faster(*steps.same_core, found).value),
        others.size() == 1 ? "it" : "them"));
    explanation.unset.insert(explanation.unset.end(), others.begin(), others.end());
  }
}

void explain_choice(const Evidence& evidence, const Steps& steps, const Thresholds& thresholds,
                    Explanation& explanation) {
  const LadderRung& chosen = steps.automatic != nullptr ? *steps.automatic : *steps.found;
  const LadderRung& best = *steps.best_own;
  if (best.setting.find('=') == std::string::npos ||
      times_faster(best, chosen).value <= thresholds.optimal_factor) {
    return;
  }
  explanation.causes.push_back(
      fmt::format("{} {} chooses {} by itself: {}; its {} is {} times faster {}",
                  in_words(evidence.library.provider), evidence.library.version, in_words(chosen),
                  state_of(chosen), in_words(best), two_digits(times_faster(best, chosen).value),
                  measured_with(best)));
  const std::string why =
      why_core(chosen.provider, chosen.version, chosen.vector_class, evidence.cpu);
  if (!why.empty()) explanation.causes.push_back(why);
  // What is exported replaces what is set.
  const std::string name = best.setting.substr(0, best.setting.find('='));
  auto& unset = explanation.unset;
  unset.erase(std::remove(unset.begin(), unset.end(), name), unset.end());
  explanation.fixes.push_back(
      fmt::format("export {}, or {}", best.setting, how_to_get_better(best.provider, evidence)));
}

// The steps may each stay below the threshold that they exceed together.
void explain_rest(const Evidence& evidence, const Steps& steps, Explanation& explanation) {
  explanation.causes.push_back(fmt::format(
      "{}; {} is {} times faster {}", state_of(*steps.found), in_words(*steps.best),
      two_digits(times_faster(*steps.best, *steps.found).value), measured_with(*steps.best)));
  const std::string& setting = steps.best->setting;
  if (steps.best->library != steps.found->library) {
    explanation.fixes.push_back(how_to_select(*steps.best, evidence));
  } else if (setting.find('=') != std::string::npos) {
    explanation.fixes.push_back("export " + setting);
  }
  explanation.unset = other_variables(steps.found->provider, evidence);
}

}  // namespace

report::Verdict explain_loss(const Evidence& evidence, const Steps& steps,
                             const Thresholds& thresholds) {
  Explanation explanation;
  if (steps.best != steps.best_own &&
      times_faster(*steps.best, *steps.best_own).value > thresholds.optimal_factor) {
    explain_library(evidence, steps, explanation);
  } else {
    explain_environment(evidence, steps, thresholds, explanation);
    explain_choice(evidence, steps, thresholds, explanation);
    if (explanation.causes.empty()) explain_rest(evidence, steps, explanation);
  }
  report::Verdict verdict;
  verdict.why = explanation.why();
  verdict.fix = explanation.fix();
  return verdict;
}

}  // namespace hwprof::blas
