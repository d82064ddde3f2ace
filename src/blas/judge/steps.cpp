#include "src/blas/judge/steps.h"

#include <algorithm>
#include <cmath>

namespace hwprof::blas {
namespace {

using report::LadderRung;

// Whether a rung ran in the same environment as the one that is as found, but for what no library
// reads and for the number of threads. A wrapper reads none of its backend's variables itself.
bool same_environment(const Evidence& evidence, const LadderRung& rung) {
  return std::all_of(
      evidence.environment.begin(), evidence.environment.end(), [&](const auto& variable) {
        return counts_threads(variable.first) || ignores(evidence.library, variable.first) ||
               rung.setting == variable.first + "=" + variable.second;
      });
}

double half_width(const LadderRung& rung) {
  return rung.peak_fraction_low && rung.peak_fraction_high
             ? std::log(*rung.peak_fraction_high / *rung.peak_fraction_low) / 2
             : 0;
}

}  // namespace

bool ignores(const Identity& identity, const std::string& variable) {
  return std::find(identity.ignored.begin(), identity.ignored.end(), variable) !=
         identity.ignored.end();
}

bool counts_threads(const std::string& variable) {
  return variable.ends_with("_NUM_THREADS") || variable.ends_with("_THREAD_LIMIT");
}

std::vector<std::string> other_variables(Provider provider, const Evidence& evidence) {
  // What a wrapper hands its work to reads variables of its own.
  const bool any = facts(provider).wraps || provider == Provider::kUnknown;
  std::vector<std::string> names;
  for (const auto& [name, value] : evidence.environment) {
    const bool reads =
        any || (starts_with_any(name, facts(provider).variables) && !forces_core(name));
    if (reads && !counts_threads(name) && !ignores(evidence.library, name)) names.push_back(name);
  }
  return names;
}

// The logarithms of two independent measures: their half widths add up in squares.
Ratio times_faster(const LadderRung& fast, const LadderRung& slow) {
  if (&fast == &slow) return {};
  const double value = *fast.peak_fraction / *slow.peak_fraction;
  const double half = std::hypot(half_width(fast), half_width(slow));
  return {value, value * std::exp(-half), value * std::exp(half)};
}

Steps find_steps(const Evidence& evidence, const std::vector<LadderRung>& ladder) {
  Steps steps;
  const auto measured = [](const LadderRung& rung) { return rung.peak_fraction.value_or(0) > 0; };
  const auto keep_faster = [](const LadderRung*& step, const LadderRung& rung) {
    if (step == nullptr || *rung.peak_fraction > *step->peak_fraction) step = &rung;
  };
  for (const LadderRung& rung : ladder) {
    if (rung.as_found && measured(rung)) steps.found = &rung;
  }
  if (steps.found == nullptr) return steps;
  for (const LadderRung& rung : ladder) {
    if (!measured(rung) || !rung.results.right.value_or(true)) continue;
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
  // Where nothing else can tell the two apart, the slower one was only disturbed.
  if (steps.same_core != nullptr && same_environment(evidence, *steps.same_core)) {
    keep_faster(steps.found, *steps.same_core);
  }
  return steps;
}

}  // namespace hwprof::blas
