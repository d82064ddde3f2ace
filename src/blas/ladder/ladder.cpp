#include "src/blas/ladder/ladder.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "src/blas/evidence/installed.h"
#include "src/blas/evidence/library_file.h"
#include "src/blas/ladder/blocks.h"
#include "src/blas/ladder/plan.h"
#include "src/blas/ladder/rung.h"
#include "src/blas/providers/providers.h"
#include "src/measure/peak.h"
#include "src/measure/statistics.h"
#include "src/observe/elf/elf_file.h"

namespace hwprof::blas {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// One rung must not eat the time of the others, nor start when it cannot end.
constexpr milliseconds kShortestRung{80};
constexpr int kShareForRepeats = 4;         // of the budget, a quarter
constexpr std::size_t kMostContenders = 3;  // that are repeated for being fast
// Of a rung that is judged and of the fastest, which is known then.
constexpr double kKnownWell = 0.03;  // half of its interval, of the fraction

// Of the file with the kernels: a copy of it is no other library.
std::string build_of(const std::string& kernels) {
  const std::string id = observe::ElfFile(kernels).build_id();
  return id.empty() ? kernels : id;
}

struct Outcome {
  Attempt attempt;
  report::LadderRung rung;
  std::vector<Block> blocks;
  std::string kernels;  // file with the kernels that ran
  std::string build;    // of that file
  int size = 0;         // of the square matrices

  // Of what the rungs are compared by, over the blocks so far.
  [[nodiscard]] double fraction() const {
    std::vector<double> fractions;
    for (const Block& block : blocks) {
      fractions.push_back(block.calls_fraction.value_or(block.fraction.value_or(-1)));
    }
    return fractions.empty() ? -1 : median(std::move(fractions));
  }
};

bool faster(const report::LadderRung& a, const report::LadderRung& b) {
  return a.peak_fraction.value_or(-1) > b.peak_fraction.value_or(-1);
}

class Climb {
 public:
  // `library`: path of the one that is judged; "" where there is none.
  Climb(std::string library, const Identity& identity, const LadderOptions& options)
      : library_(std::move(library)),
        identity_(identity),
        options_(options),
        build_(build_of(identity.kernels)),
        environment_is_clean_(!environment_shapes(identity)),
        peak_isa_(fastest_fma_kernel().isa),
        deadline_(Clock::now() + options.budget) {}

  // `reserve`: of the budget, that is left for others.
  void attempt_all(const std::vector<Attempt>& attempts, milliseconds reserve = {}) {
    for (const Attempt& attempt : attempts) attempt_once(attempt, reserve);
  }

  // Another OpenBLAS may choose badly by itself too: then its widest cores are to be compared with.
  void attempt_wider_cores(const Machine& machine) {
    const int widest = rank(widest_vector_class(machine.isa));
    std::vector<Attempt> wider;
    for (const Outcome& outcome : outcomes_) {
      const bool narrow = !outcome.blocks.empty() && rank(outcome.rung.vector_class) < widest;
      if (!narrow || outcome.attempt.library == library_ ||
          outcome.rung.provider != Provider::kOpenBlas) {
        continue;
      }
      const auto file = inspect_file(outcome.kernels, false);
      for (const CoreType& core : facts(Provider::kOpenBlas).cores) {
        if (rank(core.vector_class) < widest || !can_run(core, machine.isa) || !file ||
            !offers(*file, core)) {
          continue;
        }
        Attempt attempt = openblas_core(outcome.attempt.library, core);
        attempt.own = outcome.attempt.own;
        wider.push_back(std::move(attempt));
      }
    }
    attempt_all(wider);
  }

  // What the verdict will rest on, by turns, so that a mood of the machine meets all of them.
  void repeat_deciding(std::size_t blocks) { repeat(deciding(kMostContenders), blocks); }

  // The verdict hangs on how what is judged compares with the fastest.
  void repeat_until_known() {
    for (std::size_t blocks = kMostBlocks + 1; blocks <= kMostBlocksOfTheTwo; ++blocks) {
      const std::vector<Outcome*> chosen = deciding(1);
      const bool known = std::all_of(chosen.begin(), chosen.end(), [&](const Outcome* outcome) {
        report::LadderRung rung;
        summarise(outcome->blocks, highest_peak(), rung);
        const auto low = rung.calls_fraction ? rung.calls_fraction_low : rung.peak_fraction_low;
        const auto high = rung.calls_fraction ? rung.calls_fraction_high : rung.peak_fraction_high;
        return low && high && *high - *low <= kKnownWell * (*high + *low);
      });
      if (known || !may_go_on()) return;
      repeat(chosen, blocks);
    }
  }

  Ladder result() && {
    Ladder ladder;
    std::vector<std::string> disturbed, smaller;
    std::vector<double> peaks;
    for (const Outcome& outcome : outcomes_) {
      for (const Block& block : outcome.blocks) peaks.push_back(block.peak_gflops);
    }
    const double highest = highest_peak();
    std::erase_if(peaks, [&](double peak) { return peak < kUndisturbedPeak * highest; });
    std::sort(peaks.begin(), peaks.end());
    for (Outcome& outcome : outcomes_) {
      if (outcome.blocks.empty()) continue;
      if (outcome.size > 0 && outcome.size != kRungSize) {
        smaller.push_back(fmt::format("{} of {} ({} x {} x {})", outcome.rung.setting,
                                      to_text(outcome.rung.provider), outcome.size, outcome.size,
                                      outcome.size));
      }
      summarise(outcome.blocks, highest, outcome.rung);
      // One peak for all: else the order by GFLOP/s would not be that of the fractions.
      if (outcome.rung.peak_fraction)
        outcome.rung.gflops = *outcome.rung.peak_fraction * peaks[peaks.size() / 2];
      if (std::all_of(outcome.blocks.begin(), outcome.blocks.end(), [&](const Block& block) {
            return block.peak_gflops < kUndisturbedPeak * highest;
          })) {
        disturbed.push_back(label(outcome.attempt));
      }
    }
    ladder.own_reason = why_no_own();
    for (Outcome& outcome : outcomes_) ladder.rungs.push_back(std::move(outcome.rung));
    std::stable_sort(ladder.rungs.begin(), ladder.rungs.end(), faster);
    ladder.note = fmt::format(
        "sgemm {0} x {0} x {0} on one thread, in child processes; each product over the FMA peak "
        "before and after it, by CPU time, the median; GFLOP/s at the median of all peaks",
        kRungSize);
    if (!left_out_.empty()) {
      ladder.note += fmt::format("; not measured within {} ms: {}", options_.budget.count(),
                                 fmt::join(left_out_, ", "));
    }
    if (!options_.replay.calls.empty()) {
      ladder.note += "; then the program's own calls: " + options_.replay.note;
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
  void repeat(const std::vector<Outcome*>& chosen, std::size_t blocks) {
    for (std::size_t round = 1; round < blocks; ++round) {
      for (Outcome* outcome : chosen) {
        if (outcome->blocks.size() > round || !may_go_on()) continue;
        const auto again = measure(outcome->attempt, false);
        if (again) outcome->blocks.push_back(block_of(*again));
      }
    }
  }

  [[nodiscard]] double highest_peak() const {
    double highest = 0;
    for (const Outcome& outcome : outcomes_) {
      for (const Block& block : outcome.blocks) highest = std::max(highest, block.peak_gflops);
    }
    return highest;
  }

  [[nodiscard]] std::string why_no_own() const {
    if (options_.own.path.empty()) return options_.own.reason;
    for (const Outcome& outcome : outcomes_) {
      if (outcome.attempt.own) return outcome.rung.reason;
    }
    return left_out_.empty() ? "the same OpenBLAS is among the libraries of this machine"
                             : "the ladder's time was up";
  }

  // As it is found, what the library would do without the variables, and the fastest.
  std::vector<Outcome*> deciding(std::size_t contenders) {
    std::vector<Outcome*> all;
    for (Outcome& outcome : outcomes_) {
      if (!outcome.blocks.empty()) all.push_back(&outcome);
    }
    std::stable_sort(all.begin(), all.end(), [](const Outcome* a, const Outcome* b) {
      return a->fraction() > b->fraction();
    });
    std::vector<Outcome*> chosen;
    for (Outcome* outcome : all) {
      const bool judged =
          outcome->attempt.library == library_ &&
          (outcome->rung.as_found || outcome->rung.setting == "auto" ||
           (!environment_is_clean_ && same_name(outcome->rung.core, identity_.core)));
      if (judged || chosen.size() < contenders) chosen.push_back(outcome);
    }
    return chosen;
  }

  [[nodiscard]] bool may_go_on(milliseconds reserve = {}) const {
    return time_left() - reserve >= kShortestRung && (options_.stop == nullptr || !*options_.stop);
  }

  static Block block_of(const RungResult& result) {
    return {result.peak_fraction, result.peak_gflops, result.calls_fraction};
  }

  [[nodiscard]] milliseconds time_left() const {
    return std::chrono::duration_cast<milliseconds>(deadline_ - Clock::now());
  }

  void attempt_once(const Attempt& attempt, milliseconds reserve) {
    // The core that the library chooses by itself is not measured again by name.
    if (attempt.library == library_ && seen_.contains({build_, attempt.core})) return;
    if (!may_go_on(reserve)) {
      left_out_.push_back(label(attempt));
      return;
    }
    Outcome outcome = run(attempt);
    const bool clean = !attempt.as_found || environment_is_clean_;
    // Nor a second name of the same kernels, such as libopenblas.so.0 beside its libblas.so.3.
    if (clean && !outcome.blocks.empty() &&
        !seen_.insert({outcome.build, outcome.rung.core}).second) {
      return;
    }
    outcomes_.push_back(std::move(outcome));
  }

  [[nodiscard]] Result<RungResult> measure(const Attempt& attempt, bool with_results) const {
    RungTask task{.library = attempt.library,
                  .cpus = {},
                  .expected_core = attempt.core,
                  .peak_isa = peak_isa_,
                  .with_results = with_results,
                  .replay = replay_text(options_.replay.calls)};
    if (!options_.cpus.empty()) task.cpus.push_back(options_.cpus.front());
    return measure_in_child(options_.program, task, environment_for(attempt, options_.own),
                            std::min(time_left(), options_.longest_rung));
  }

  [[nodiscard]] Outcome run(const Attempt& attempt) const {
    Outcome outcome;
    outcome.attempt = attempt;
    report::LadderRung& rung = outcome.rung;
    rung.own = attempt.own;
    rung.core = attempt.core;
    rung.setting = attempt.setting;
    rung.library = attempt.library;
    rung.provider = attempt.provider;
    rung.vector_class = vector_class_of(attempt.provider, attempt.core);
    rung.as_found = attempt.as_found;
    const auto result = measure(attempt, true);
    if (!result) {
      rung.reason = result.error().what;
      return outcome;
    }
    rung.provider = result->identity.provider;
    if (!result->identity.core.empty()) rung.core = result->identity.core;
    rung.vector_class = vector_class_of(rung.provider, rung.core);
    rung.version = result->identity.version;
    rung.behind = result->identity.behind;
    rung.results = result->results;
    // It has a speed, but is not to be compared.
    if (!result->calls_reason.empty()) rung.reason = result->calls_reason;
    outcome.blocks = {block_of(*result)};
    outcome.size = result->size;
    outcome.kernels = result->identity.kernels;
    outcome.build = build_of(outcome.kernels);
    return outcome;
  }

  std::string library_;
  const Identity& identity_;
  const LadderOptions& options_;
  std::string build_;
  bool environment_is_clean_;
  std::string peak_isa_;
  Clock::time_point deadline_;
  std::vector<Outcome> outcomes_;
  std::vector<std::string> left_out_;
  // Build and core type of what was measured in a clean environment.
  std::set<std::pair<std::string, std::string>> seen_;
};

}  // namespace

void Ladder::move_to(report::JudgedBlas& blas) && {
  const auto fastest = std::find_if(rungs.begin(), rungs.end(), [](const report::LadderRung& rung) {
    return rung.own && rung.gflops.has_value();
  });
  if (fastest != rungs.end()) blas.own = *fastest;
  for (const report::LadderRung& rung : rungs) {
    if (rung.as_found) {
      blas.results = rung.results;
      blas.behind = rung.behind;
    }
  }
  blas.ladder = std::move(rungs);
  blas.ladder_note = std::move(note);
  blas.own_reason = std::move(own_reason);
}

Ladder climb(const BlasLibrary& library, const Identity& identity,
             const std::vector<report::InstalledBlas>& installed, const Machine& machine,
             const LadderOptions& options) {
  Climb climb(library.path(), identity, options);
  const Plan plan = plan_rungs(library, identity, installed, machine, options);
  climb.attempt_all(plan.deciding);
  climb.attempt_wider_cores(machine);
  climb.repeat_deciding(kFewestBlocks);
  // Of one block a rung is fast by luck; what is left repeats those that lead then.
  climb.attempt_all(plan.rest, options.budget / kShareForRepeats);
  climb.repeat_deciding(kMostBlocks);
  climb.repeat_until_known();
  return std::move(climb).result();
}

Ladder climb_own(const Machine& machine, const LadderOptions& options) {
  if (options.own.path.empty()) return {.rungs = {}, .note = "", .own_reason = options.own.reason};
  const Identity none;
  Climb climb("", none, options);
  climb.attempt_all({own_attempt(options.own)});
  climb.attempt_wider_cores(machine);
  climb.repeat_deciding(kMostBlocks);
  return std::move(climb).result();
}

}  // namespace hwprof::blas
