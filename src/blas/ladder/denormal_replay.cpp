#include "src/blas/ladder/denormal_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <utility>

#include "src/base/clock.h"
#include "src/blas/ladder/plan.h"
#include "src/blas/ladder/replayed_call.h"
#include "src/blas/ladder/rung.h"

namespace hwprof::blas {
namespace {

using report::CallSite;

constexpr std::size_t kMostSites = 3;
// A hundred times slower it takes a tenth of a second on a fast library.
constexpr double kMostReplayedFlops = 4e7;
constexpr double kReplaySliceSeconds = 0.001, kEnoughReplaySeconds = 0.4;
constexpr std::size_t kFewestReplayRounds = 6, kMostReplayRounds = 21;

// Calls that last a slice together, and what one of them takes.
class TimedCall {
 public:
  TimedCall(ReplayedCall call, clockid_t clock) : call_(std::move(call)), clock_(clock) {
    call_.run();  // page faults, buffers
    for (double seconds = run(); seconds < kReplaySliceSeconds; seconds = run()) {
      const double more = seconds > 0 ? kReplaySliceSeconds / seconds : 10;
      calls_ =
          static_cast<std::uint64_t>(static_cast<double>(calls_) * std::clamp(more, 1.2, 10.0)) + 1;
    }
  }
  [[nodiscard]] double seconds_each() const { return run() / static_cast<double>(calls_); }

 private:
  [[nodiscard]] double run() const {
    const double begin = 1e-9 * ns_of(clock_);
    for (std::uint64_t i = 0; i < calls_; ++i) call_.run();
    return 1e-9 * ns_of(clock_) - begin;
  }

  ReplayedCall call_;
  clockid_t clock_;
  std::uint64_t calls_ = 1;
};

bool asks_for_replay(const CallSite& site) {
  return site.numbers.denormal_calls.value_or(0) > 0 && !site.numbers.denormal_slowdown;
}

std::vector<CallSite*> longest_first(report::Called& called) {
  std::vector<CallSite*> sites;
  for (CallSite& site : called.calls) {
    if (asks_for_replay(site)) sites.push_back(&site);
  }
  std::stable_sort(sites.begin(), sites.end(), [](const CallSite* a, const CallSite* b) {
    return a->numbers.denormal_time_ns.value_or(0) > b->numbers.denormal_time_ns.value_or(0);
  });
  return sites;
}

report::DenormalReplay replayed(const CallSite& site, const DenormalReplayOptions& options) {
  report::DenormalReplay replay;
  const auto call = denormal_call(site);
  if (!call) {
    replay.reason = call.error().what;
    return replay;
  }
  RungTask task{.library = site.library,
                .cpus = {},
                .expected_core = "",
                .peak_isa = "",
                .denormals = replay_text({*call})};
  if (!options.cpus.empty()) task.cpus.push_back(options.cpus.front());
  const auto cost =
      denormal_cost_in_child(options.program, task, environment_with(true), options.allowed);
  if (!cost) {
    replay.reason = cost.error().what;
    return replay;
  }
  replay.m = call->shape.m;
  replay.n = call->shape.n;
  replay.k = call->shape.k;
  replay.operands_ratio = cost->operands;
  replay.operands_low = cost->operands_interval.low;
  replay.operands_high = cost->operands_interval.high;
  replay.results_ratio = cost->results;
  replay.results_low = cost->results_interval.low;
  replay.results_high = cost->results_interval.high;
  replay.rounds = cost->rounds;
  return replay;
}

}  // namespace

Result<DenormalCost> measure_denormal_cost(const BlasLibrary& library, const ReplayCall& call,
                                           clockid_t clock) {
  // A library that was linked with -ffast-math has set flush-to-zero when it was loaded: in the
  // program, the calls met denormal numbers all the same.
  std::fesetenv(FE_DFL_ENV);
  TRY(ReplayedCall usual_call, ReplayedCall::prepare(library, call));
  TRY(ReplayedCall operands_call,
      ReplayedCall::prepare(library, call, Magnitude::kDenormalOperand));
  TRY(ReplayedCall results_call, ReplayedCall::prepare(library, call, Magnitude::kDenormalResults));
  const TimedCall usual(std::move(usual_call), clock), operands(std::move(operands_call), clock),
      results(std::move(results_call), clock);
  std::vector<double> of_operands, of_results;
  const double begin = 1e-9 * ns_of(clock);
  double before = usual.seconds_each();
  while (of_operands.size() < kMostReplayRounds) {
    if (of_operands.size() >= kFewestReplayRounds &&
        1e-9 * ns_of(clock) - begin >= kEnoughReplaySeconds)
      break;
    const double with_operands = operands.seconds_each();
    const double between = usual.seconds_each();
    const double with_results = results.seconds_each();
    const double after = usual.seconds_each();
    of_operands.push_back(2 * with_operands / (before + between));
    of_results.push_back(2 * with_results / (between + after));
    before = after;
  }
  return DenormalCost{.operands = median(of_operands),
                      .results = median(of_results),
                      .operands_interval = median_interval(of_operands),
                      .results_interval = median_interval(of_results),
                      .rounds = of_operands.size()};
}

Result<ReplayCall> denormal_call(const CallSite& site) {
  if (!is_sum_of_products(site.symbol)) {
    return environment_error(
        0, fmt::format("{} computes other things than sums of products", site.symbol));
  }
  const report::CallShape* longest = nullptr;
  const auto time_of = [](const report::CallShape& shape) {
    return shape.numbers.denormal_time_ns.value_or(0);
  };
  for (const report::CallShape& shape : site.shapes) {
    if (shape.numbers.denormal_calls.value_or(0) == 0) continue;
    if (longest == nullptr || time_of(shape) > time_of(*longest)) longest = &shape;
  }
  if (longest == nullptr) {
    return environment_error(
        0, fmt::format("no shape of {} is known that met denormal numbers", site.symbol));
  }
  const auto call = replayable(site, *longest, kMostReplayedFlops);
  if (call) return *call;
  return environment_error(0, fmt::format("a call of {} of {} x {} x {} is too large to be made "
                                          "again so often",
                                          site.symbol, longest->m, longest->n, longest->k));
}

void replay_denormals(report::BlasEvidence& evidence, WhyNotToLoad why_not,
                      const DenormalReplayOptions& options) {
  std::size_t made = 0;
  for (CallSite* site : longest_first(evidence.called)) {
    report::DenormalReplay& replay = site->denormal_replay.emplace();
    if (options.stop != nullptr && *options.stop) {
      replay.reason = "interrupted";
    } else if (made == kMostSites) {
      replay.reason = fmt::format("only made again for the {} in which most time went", kMostSites);
    } else if (std::string reason = why_not(evidence, site->library); !reason.empty()) {
      replay.reason = std::move(reason);
    } else {
      replay = replayed(*site, options);
      ++made;
    }
  }
}

void skip_denormals(report::BlasEvidence& evidence, const std::string& reason) {
  for (CallSite* site : longest_first(evidence.called))
    site->denormal_replay.emplace().reason = reason;
}

}  // namespace hwprof::blas
