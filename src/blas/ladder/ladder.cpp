#include "src/blas/ladder/ladder.h"

#include <fmt/format.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "src/blas/evidence/installed.h"
#include "src/blas/ladder/rung.h"
#include "src/blas/providers/providers.h"
#include "src/measure/peak.h"

namespace hwprof::blas {
namespace {

using Clock = std::chrono::steady_clock;
using report::SurveyedBlas;
using std::chrono::milliseconds;

// One rung must not eat the time of the others, nor start when it cannot end.
constexpr milliseconds kShortestRung{80};
// A smaller loss decides nothing: half of what the verdict's threshold is.
constexpr double kConfirmedLoss = 1.05;
// The clock drifts by 10 %; a peak below this share of the others' was not the core's own.
constexpr double kUndisturbedPeak = 0.85;

struct Attempt {
  std::string setting;  // as report::LadderRung has it
  std::string library;
  Provider provider = Provider::kNone;
  std::string core;  // expected; "": whatever the library chooses
  bool as_found = false;
};

std::vector<std::string> environment_with(bool blas_variables) {
  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text(*entry);
    if (blas_variables || !shapes_blas(text.substr(0, text.find('=')))) {
      environment.push_back(text);
    }
  }
  return environment;
}

std::vector<std::string> environment_for(const Attempt& attempt) {
  std::vector<std::string> environment = environment_with(attempt.as_found);
  if (attempt.setting.find('=') != std::string::npos) environment.push_back(attempt.setting);
  return environment;
}

bool same_name(const std::string& a, const std::string& b) {
  return ::strcasecmp(a.c_str(), b.c_str()) == 0;
}

// A build for several CPUs exports one table a core type.
std::vector<Attempt> openblas_cores(const BlasLibrary& library, const Machine& machine) {
  std::vector<Attempt> attempts;
  for (const CoreType& core : facts(Provider::kOpenBlas).cores) {
    if (library.symbol(core.symbol) == nullptr || !can_run(core, machine.isa)) continue;
    attempts.push_back({fmt::format("OPENBLAS_CORETYPE={}", core.name), library.path(),
                        Provider::kOpenBlas, core.name, false});
  }
  return attempts;
}

// BLIS takes a number, which differs between versions: only the library itself can say whose it
// is. Architectures that it was not built with abort; their rung says so.
std::vector<Attempt> blis_cores(const BlasLibrary& library, const Machine& machine) {
  const std::vector<std::string> known = blis_architectures(library);
  std::vector<Attempt> attempts;
  for (const CoreType& core : facts(Provider::kBlis).cores) {
    const auto at = std::find(known.begin(), known.end(), core.name);
    if (at == known.end() || !can_run(core, machine.isa)) continue;
    attempts.push_back({fmt::format("BLIS_ARCH_TYPE={}", at - known.begin()), library.path(),
                        Provider::kBlis, core.name, false});
  }
  return attempts;
}

// The widest cores and the other libraries decide the verdict; a budget that ends early costs
// only what can hardly win.
struct Plan {
  std::vector<Attempt> deciding, rest;
};

Plan plan_rungs(const BlasLibrary& library, const Identity& identity,
                const std::vector<report::InstalledBlas>& installed, const Machine& machine) {
  Plan plan;
  plan.deciding.push_back({"as found", library.path(), identity.provider, "", true});
  if (!blas_environment().empty()) {
    plan.deciding.push_back({"auto", library.path(), identity.provider, "", false});
  }
  std::vector<Attempt> cores;
  if (identity.provider == Provider::kOpenBlas) cores = openblas_cores(library, machine);
  if (identity.provider == Provider::kBlis) cores = blis_cores(library, machine);
  const int widest = rank(widest_vector_class(machine.isa));
  for (Attempt& core : cores) {
    // The core of the environment is compared with itself in a clean one.
    const bool decides = same_name(core.core, identity.core) ||
                         rank(vector_class_of(core.provider, core.core)) >= widest;
    (decides ? plan.deciding : plan.rest).push_back(std::move(core));
  }
  for (const report::InstalledBlas& other : installed) {
    if (other.path == library.path() || other.path == identity.kernels) continue;
    plan.deciding.push_back({"auto", other.path, other.provider, "", false});
  }
  return plan;
}

std::string label(const Attempt& attempt) {
  return attempt.core.empty() ? fmt::format("{} ({})", attempt.library, attempt.setting)
                              : attempt.core;
}

struct Outcome {
  Attempt attempt;
  report::LadderRung rung;
  std::string kernels;     // file with the kernels that ran
  bool confirmed = false;  // measured twice
  int size = 0;            // of the square matrices

  [[nodiscard]] double peak_gflops() const {
    return rung.gflops ? *rung.gflops / *rung.peak_fraction : 0;
  }
};

bool faster(const report::LadderRung& a, const report::LadderRung& b) {
  return a.peak_fraction.value_or(-1) > b.peak_fraction.value_or(-1);
}

class Climb {
 public:
  Climb(const BlasLibrary& library, const Identity& identity, const LadderOptions& options)
      : library_(library),
        identity_(identity),
        options_(options),
        environment_is_clean_(blas_environment().empty()),
        peak_isa_(fastest_fma_kernel().isa),
        deadline_(Clock::now() + options.budget) {}

  void attempt_all(const std::vector<Attempt>& attempts) {
    for (const Attempt& attempt : attempts) attempt_once(attempt);
  }

  // Neighbours lie in both ways. One on the same CPU takes time from sgemm alone; what the verdict
  // will blame on a variable or on the library's choice is therefore measured twice. One on the
  // other thread of the core, or behind the hypervisor, halves the peak and narrow kernels hardly,
  // so that their ratio rises; a rung whose peak is below that of the others is measured again.
  void remeasure_doubtful() {
    for (Outcome& outcome : outcomes_) {
      if (outcome.rung.gflops && !outcome.confirmed && time_left() >= kShortestRung &&
          (is_disturbed(outcome) || decides_a_loss(outcome.rung))) {
        Outcome again = run(outcome.attempt);
        again.confirmed = outcome.confirmed = true;
        if (again.rung.gflops && is_better(again, outcome)) outcome = std::move(again);
      }
    }
  }

  Ladder result() && {
    Ladder ladder;
    std::vector<std::string> disturbed, smaller;
    for (const Outcome& outcome : outcomes_) {
      if (outcome.rung.gflops && outcome.size != kRungSize) {
        smaller.push_back(fmt::format("{} of {} ({} x {} x {})", outcome.rung.setting,
                                      to_text(outcome.rung.provider), outcome.size, outcome.size,
                                      outcome.size));
      }
      if (is_disturbed(outcome)) disturbed.push_back(label(outcome.attempt));
    }
    for (Outcome& outcome : outcomes_) ladder.rungs.push_back(std::move(outcome.rung));
    std::stable_sort(ladder.rungs.begin(), ladder.rungs.end(), faster);
    ladder.note = fmt::format(
        "sgemm {0} x {0} x {0} on one thread, a child process each; slices interleaved "
        "with the FMA peak, the fastest of each",
        kRungSize);
    if (!left_out_.empty()) {
      ladder.note += fmt::format("; not measured within {} ms: {}", options_.budget.count(),
                                 fmt::join(left_out_, ", "));
    }
    if (!smaller.empty()) {
      ladder.note +=
          fmt::format("; a smaller product, which flatters, for {}", fmt::join(smaller, ", "));
    }
    if (!disturbed.empty()) {
      ladder.note +=
          fmt::format("; other work slowed the CPU down during: {}", fmt::join(disturbed, ", "));
    }
    return ladder;
  }

 private:
  [[nodiscard]] bool is_disturbed(const Outcome& outcome) const {
    double highest = 0;
    for (const Outcome& other : outcomes_) highest = std::max(highest, other.peak_gflops());
    return outcome.rung.gflops && outcome.peak_gflops() < kUndisturbedPeak * highest;
  }

  [[nodiscard]] bool decides_a_loss(const report::LadderRung& rung) const {
    double best = 0;
    for (const Outcome& other : outcomes_) {
      best = std::max(best, other.rung.peak_fraction.value_or(0));
    }
    return rung.library == library_.path() && *rung.peak_fraction * kConfirmedLoss < best &&
           (rung.as_found || rung.setting == "auto" || same_name(rung.core, identity_.core));
  }

  [[nodiscard]] bool is_better(const Outcome& again, const Outcome& before) const {
    return is_disturbed(again) || is_disturbed(before) ? again.peak_gflops() > before.peak_gflops()
                                                       : faster(again.rung, before.rung);
  }

  [[nodiscard]] milliseconds time_left() const {
    return std::chrono::duration_cast<milliseconds>(deadline_ - Clock::now());
  }

  void attempt_once(const Attempt& attempt) {
    // The core that the library chooses by itself is not measured again by name.
    if (attempt.library == library_.path() && seen_.contains({identity_.kernels, attempt.core})) {
      return;
    }
    if (time_left() < kShortestRung || (options_.stop != nullptr && *options_.stop)) {
      left_out_.push_back(label(attempt));
      return;
    }
    Outcome outcome = run(attempt);
    const bool clean = !attempt.as_found || environment_is_clean_;
    // Nor a second name of the same kernels, such as libopenblas.so.0 beside its libblas.so.3.
    if (clean && outcome.rung.gflops &&
        !seen_.insert({outcome.kernels, outcome.rung.core}).second) {
      return;
    }
    outcomes_.push_back(std::move(outcome));
  }

  [[nodiscard]] Outcome run(const Attempt& attempt) const {
    Outcome outcome{attempt, {}, "", false};
    report::LadderRung& rung = outcome.rung;
    rung.core = attempt.core;
    rung.setting = attempt.setting;
    rung.library = attempt.library;
    rung.provider = attempt.provider;
    rung.vector_class = vector_class_of(attempt.provider, attempt.core);
    rung.as_found = attempt.as_found;
    RungTask task{attempt.library, {}, attempt.core, peak_isa_, false};
    if (!options_.cpus.empty()) task.cpus.push_back(options_.cpus.front());
    const milliseconds allowed = std::min(time_left(), options_.longest_rung);
    const auto result = measure_in_child(options_.program, task, environment_for(attempt), allowed);
    if (!result) {
      rung.reason = result.error().what;
      return outcome;
    }
    rung.provider = result->identity.provider;
    if (!result->identity.core.empty()) rung.core = result->identity.core;
    rung.vector_class = vector_class_of(rung.provider, rung.core);
    rung.gflops = result->gflops;
    rung.peak_fraction = result->peak_fraction;
    outcome.size = result->size;
    outcome.kernels = result->identity.kernels;
    return outcome;
  }

  const BlasLibrary& library_;
  const Identity& identity_;
  const LadderOptions& options_;
  bool environment_is_clean_;
  std::string peak_isa_;
  Clock::time_point deadline_;
  std::vector<Outcome> outcomes_;
  std::vector<std::string> left_out_;
  // Kernels and core type of what was measured in a clean environment.
  std::set<std::pair<std::string, std::string>> seen_;
};

}  // namespace

Ladder climb(const BlasLibrary& library, const Identity& identity,
             const std::vector<report::InstalledBlas>& installed, const Machine& machine,
             const LadderOptions& options) {
  Climb climb(library, identity, options);
  const Plan plan = plan_rungs(library, identity, installed, machine);
  climb.attempt_all(plan.deciding);
  climb.remeasure_doubtful();
  climb.attempt_all(plan.rest);
  climb.remeasure_doubtful();
  return std::move(climb).result();
}

std::vector<SurveyedBlas> survey(const std::vector<report::InstalledBlas>& libraries,
                                 const SurveyOptions& options) {
  const auto deadline = Clock::now() + options.budget;
  const std::string peak_isa = fastest_fma_kernel().isa;
  std::vector<SurveyedBlas> all;
  for (const report::InstalledBlas& library : libraries) {
    SurveyedBlas& one = all.emplace_back();
    static_cast<report::InstalledBlas&>(one) = library;
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    const milliseconds allowed = std::min(left, options.longest_child);
    if (allowed <= milliseconds::zero()) {
      one.reason = fmt::format("not measured within {} ms", options.budget.count());
      continue;
    }
    const auto result = measure_in_child(options.program, {library.path, {}, "", peak_isa, true},
                                         environment_with(true), allowed);
    if (!result) {
      one.reason = result.error().what;
      continue;
    }
    static_cast<report::Blas&>(one) = result->identity;
    one.path = library.path;
    one.provider = library.provider;
    one.size = result->size;
    one.sgemm_gflops = result->gflops;
    one.sgemm_peak_fraction = result->peak_fraction;
    one.dgemm_gflops = result->dgemm_gflops;
    one.dgemm_peak_fraction = result->dgemm_peak_fraction;
  }
  std::stable_sort(all.begin(), all.end(), [](const SurveyedBlas& a, const SurveyedBlas& b) {
    return a.sgemm_gflops.value_or(-1) > b.sgemm_gflops.value_or(-1);
  });
  return all;
}

}  // namespace hwprof::blas
