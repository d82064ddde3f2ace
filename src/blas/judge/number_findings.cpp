// The sentences on numbers that cost time or are none: what was met, by whom, and what to do.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/blas/judge/judge_run.h"
#include "src/blas/judge/words.h"

namespace hwprof::blas {
namespace {

using report::CallSite;

constexpr double kNotableShare = 0.05;     // of the calls, or of the time in them
constexpr double kNotableSlowdown = 1.25;  // less is no reason to change a program

// What computes for a program, as its file is named: who can say how to change that.
bool runs(const report::BlasEvidence& evidence, std::string_view name) {
  const auto is_named = [&](const std::string& path) {
    return path.find(name, path.rfind('/') + 1) != std::string::npos;
  };
  return std::any_of(evidence.loaded.begin(), evidence.loaded.end(),
                     [&](const auto& library) { return is_named(library.path); }) ||
         std::any_of(evidence.called.calls.begin(), evidence.called.calls.end(),
                     [&](const CallSite& site) { return is_named(site.caller); });
}

enum class Framework { kNone, kTorch, kNumpy };

Framework framework_of(const report::BlasEvidence& evidence) {
  if (runs(evidence, "libtorch")) return Framework::kTorch;
  return runs(evidence, "_multiarray_umath") ? Framework::kNumpy : Framework::kNone;
}

std::string how_to_flush(Framework framework) {
  switch (framework) {
    case Framework::kTorch:
      return "set flush-to-zero: torch.set_flush_denormal(True) at the start of the program";
    case Framework::kNumpy:
      return "numpy has no switch for flush-to-zero: scale the data, or set what is below "
             "numpy.finfo(x.dtype).tiny to 0";
    case Framework::kNone:
      break;
  }
  return "set flush-to-zero before the first thread starts: "
         "_MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON) and "
         "_MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_ON), or link with -ffast-math, with which "
         "GCC does so before main()";
}

std::string how_to_find_nan(Framework framework) {
  switch (framework) {
    case Framework::kTorch:
      return "find where it begins: torch.autograd.set_detect_anomaly(True)";
    case Framework::kNumpy:
      return "find where it begins: numpy.seterr(invalid='raise')";
    case Framework::kNone:
      break;
  }
  return "find where it begins: feenableexcept(FE_INVALID)";
}

std::string from(const CallSite& site) {
  return site.caller.empty() ? site.symbol
                             : fmt::format("{} from {}", site.symbol, file_label(site.caller));
}

// The shape that the site's slowdown is of.
const report::CallShape* compared_shape(const CallSite& site) {
  const report::CallShape* found = nullptr;
  for (const report::CallShape& shape : site.shapes) {
    const auto time_of = [](const auto& of) { return of.numbers.denormal_time_ns.value_or(0); };
    if (shape.numbers.denormal_slowdown && (found == nullptr || time_of(shape) > time_of(*found)))
      found = &shape;
  }
  return found;
}

// The larger of the replay's two: what the program's numbers were nobody knows.
std::optional<double> most_slowdown(const CallSite& site) {
  if (!site.denormal_replay) return std::nullopt;
  const report::DenormalReplay& replay = *site.denormal_replay;
  if (!replay.operands_ratio || !replay.results_ratio) return std::nullopt;
  return std::max(*replay.operands_ratio, *replay.results_ratio);
}

std::string replayed_slowdown_of(const report::DenormalReplay& replay) {
  const bool results = *replay.results_ratio >= *replay.operands_ratio;
  const auto range = [](std::optional<double> low, std::optional<double> high) {
    return low && high ? fmt::format(" [{}, {}]", two_digits(*low), two_digits(*high)) : "";
  };
  const std::string of_results =
      range(replay.results_low, replay.results_high) + " with products that all are denormal";
  const std::string of_operands = range(replay.operands_low, replay.operands_high) +
                                  " with an operand of nothing but denormal numbers";
  return fmt::format(
      "which makes them at most {} times slower (made again on one thread, {} x {} x {}: {}{}, "
      "{}{})",
      two_digits(std::max(*replay.operands_ratio, *replay.results_ratio)), replay.m, replay.n,
      replay.k, two_digits(results ? *replay.results_ratio : *replay.operands_ratio),
      results ? of_results : of_operands,
      two_digits(results ? *replay.operands_ratio : *replay.results_ratio),
      results ? of_operands : of_results);
}

std::string slowdown_of(const CallSite& site) {
  const report::CallShape* shape = compared_shape(site);
  if (shape == nullptr && most_slowdown(site)) return replayed_slowdown_of(*site.denormal_replay);
  if (shape == nullptr) {
    std::string text =
        "what that costs is not known, since too few calls of one shape were with and without";
    if (site.denormal_replay)
      text += fmt::format(", nor was one made again ({})", site.denormal_replay->reason);
    return text;
  }
  const std::uint64_t slow = shape->numbers.denormal_calls.value_or(0);
  return fmt::format("{} times slower than the others of {} x {} x {} ({} calls with, {} without)",
                     two_digits(*shape->numbers.denormal_slowdown), shape->m, shape->n, shape->k,
                     slow, shape->numbers.flag_calls.value_or(0) - slow);
}

void add_denormal(const report::BlasEvidence& evidence, std::vector<std::string>& all) {
  const CallSite* worst = nullptr;
  double calls = 0, met = 0, all_ns = 0, met_ns = 0;
  for (const CallSite& site : evidence.called.calls) {
    const report::CallNumbers& numbers = site.numbers;
    all_ns += site.time_ns.value_or(0);
    if (!numbers.flag_calls) continue;
    calls += static_cast<double>(*numbers.flag_calls);
    if (numbers.denormal_calls.value_or(0) == 0) continue;
    met += static_cast<double>(*numbers.denormal_calls);
    met_ns += numbers.denormal_time_ns.value_or(0);
    if (worst == nullptr ||
        numbers.denormal_time_ns.value_or(0) > worst->numbers.denormal_time_ns.value_or(0))
      worst = &site;
  }
  if (worst == nullptr) return;
  if (met < kNotableShare * calls && met_ns < kNotableShare * all_ns) return;
  const auto slowdown =
      compared_shape(*worst) != nullptr ? worst->numbers.denormal_slowdown : most_slowdown(*worst);
  if (slowdown.value_or(kNotableSlowdown) < kNotableSlowdown) return;
  const std::uint64_t of = *worst->numbers.denormal_calls, known = *worst->numbers.flag_calls;
  const double share = static_cast<double>(of) / static_cast<double>(known);
  all.push_back(fmt::format("{} % of the calls of {} met denormal numbers ({} of {}), {}: {}.",
                            share < 0.995 ? fmt::format("{:.2g}", 100 * share)
                            : of == known ? "100"
                                          : "over 99",
                            from(*worst), of, known, slowdown_of(*worst),
                            how_to_flush(framework_of(evidence))));
}

void add_nan(const report::BlasEvidence& evidence, std::vector<std::string>& all) {
  const CallSite* first = nullptr;
  std::size_t others = 0;
  for (const CallSite& site : evidence.called.calls) {
    if (site.numbers.nan_operands.value_or(0) == 0) continue;
    if (first != nullptr) ++others;
    if (first == nullptr || site.nan_first) first = &site;
  }
  if (first == nullptr) return;
  std::string text =
      fmt::format("{} of {} sampled operands of {} {} NaN", *first->numbers.nan_operands,
                  first->numbers.sampled_operands.value_or(0), from(*first),
                  *first->numbers.nan_operands == 1 ? "holds" : "hold");
  if (others > 0)
    text += fmt::format("{}; so do some of {} more {}", first->nan_first ? ", the first seen" : "",
                        others, others == 1 ? "routine or caller" : "routines or callers");
  all.push_back(fmt::format("{}: {}.", text, how_to_find_nan(framework_of(evidence))));
}

}  // namespace

std::vector<std::string> number_findings(const report::BlasEvidence& evidence) {
  std::vector<std::string> all;
  add_denormal(evidence, all);
  add_nan(evidence, all);
  return all;
}

}  // namespace hwprof::blas
