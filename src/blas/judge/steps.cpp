#include "src/blas/judge/steps.h"

#include <algorithm>
#include <cmath>

namespace hwprof::blas {
namespace {

using report::LadderRung;

// Whether a rung ran in the same environment as the one that is as found, but for what the library
// does not read and for the number of threads.
bool same_environment(const Evidence& evidence, const LadderRung& rung) {
  return std::all_of(
      evidence.environment.begin(), evidence.environment.end(), [&](const auto& variable) {
        return counts_threads(variable.first) || !reads(rung.provider, variable.first) ||
               evidence.library.ignores(variable.first) ||
               rung.setting == variable.first + "=" + variable.second;
      });
}

bool has_interval(const Speed& speed) { return speed.low && speed.high; }
double half_width(const Speed& speed) { return std::log(*speed.high / *speed.low) / 2; }

}  // namespace

std::string core_variable(Provider provider, const Evidence& evidence) {
  const std::string name = facts(provider).core_variable;
  return !name.empty() && evidence.environment.contains(name) && !evidence.library.ignores(name)
             ? name
             : "";
}

std::vector<std::string> other_variables(Provider provider, const Evidence& evidence) {
  const bool any = facts(provider).wraps || provider == Provider::kUnknown;
  std::vector<std::string> names;
  for (const auto& [name, value] : evidence.environment) {
    if (reads(provider, name) && (any || !forces_core(name)) && !counts_threads(name) &&
        !evidence.library.ignores(name))
      names.push_back(name);
  }
  return names;
}

Speed speed_of(const LadderRung& rung) {
  if (rung.calls_fraction)
    return {*rung.calls_fraction, rung.calls_fraction_low, rung.calls_fraction_high};
  return {rung.peak_fraction.value_or(0), rung.peak_fraction_low, rung.peak_fraction_high};
}

// The logarithms of two independent measures: their half widths add up in squares.
Ratio times_faster(const LadderRung& fast, const LadderRung& slow) {
  if (&fast == &slow) return {};
  const Speed faster = speed_of(fast), slower = speed_of(slow);
  const double value = faster.value / slower.value;
  if (!has_interval(faster) || !has_interval(slower)) {
    return {value, std::max(value / kUnknownSpread, std::min(value, 1.0)), value, false};
  }
  const double half = std::hypot(half_width(faster), half_width(slower));
  return {value, value * std::exp(-half), value * std::exp(half)};
}

Steps find_steps(const Evidence& evidence, const std::vector<LadderRung>& ladder) {
  Steps steps;
  const auto measured = [](const LadderRung& rung) { return speed_of(rung).value > 0; };
  const auto keep_faster = [](const LadderRung*& step, const LadderRung& rung) {
    if (step == nullptr || speed_of(rung).value > speed_of(*step).value) step = &rung;
  };
  for (const LadderRung& rung : ladder) {
    if (rung.as_found && measured(rung)) steps.found = &rung;
  }
  if (steps.found == nullptr) return steps;
  for (const LadderRung& rung : ladder) {
    if (!measured(rung) || !rung.results.right.value_or(true)) continue;
    if (rung.calls_fraction.has_value() != steps.found->calls_fraction.has_value()) continue;
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

std::vector<LadderRung> ladder_of_program(const std::vector<LadderRung>& climbed,
                                          const report::Blas& library, VectorClass executed) {
  std::vector<LadderRung> ladder = climbed;
  LadderRung* found = nullptr;
  for (LadderRung& rung : ladder) {
    if (rung.provider != library.provider || rung.core != library.core ||
        speed_of(rung).value <= 0) {
      continue;
    }
    // Without a core only the file tells two of them apart.
    if (library.core.empty() && library.provider != Provider::kReference &&
        rung.library != library.path) {
      continue;
    }
    if (found == nullptr || (rung.as_found && !found->as_found)) found = &rung;
  }
  if (found == nullptr) return {};
  // What hwprof itself would get: the library's own choice, where no variable made another.
  const bool has_auto = std::any_of(ladder.begin(), ladder.end(), [&](const LadderRung& rung) {
    return rung.setting == "auto" && rung.library == found->library;
  });
  for (LadderRung& rung : ladder) {
    if (rung.as_found && &rung != found && !has_auto) rung.setting = "auto";
    rung.as_found = &rung == found;
    if (rung.library == found->library && rung.provider == Provider::kUnknown)
      rung.vector_class = executed;
  }
  return ladder;
}

}  // namespace hwprof::blas
