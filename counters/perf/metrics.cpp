#include "counters/perf/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hwprof {
namespace {

constexpr double kPeakTolerance = 1.05;   // measured peaks drift by a few percent
constexpr double kRatioTolerance = 1.02;  // groups of different passes, interrupts in between
constexpr std::array<std::string_view, 3> kFlopNames = {"flops", "flops-sp", "flops-dp"};

struct Bound {
  std::string_view smaller, larger;
  std::string_view suspect;
};

// What cannot exceed what. Counts of the same call, so that sums over threads hold too.
constexpr Bound kBounds[] = {
    {"llc-miss", "llc-ref", "the two count different requests, or a hypervisor emulates one"},
    {"cache-misses", "cache-references",
     "the two count different requests, or a hypervisor emulates one"},
    {"llc-miss", "instructions", "misses above instructions: another event was counted"},
    {"branch-misses", "branches", "the two were multiplexed over different stretches of time"},
    {"branches", "instructions", "a hypervisor emulates one of the two"},
    {"stalls", "cycles", "cycles of a sibling hyper-thread were counted"},
};

EventCount* find(std::span<EventCount> counts, std::string_view name) {
  const auto found = std::find_if(counts.begin(), counts.end(), [&](const EventCount& count) {
    return count.name == name && count.value.has_value();
  });
  return found == counts.end() ? nullptr : &*found;
}

std::optional<double> quotient(std::optional<double> numerator, std::optional<double> divisor) {
  if (!numerator || !divisor || *divisor == 0) return std::nullopt;
  return *numerator / *divisor;
}

}  // namespace

std::optional<double> value_of(std::span<const EventCount> counts, std::string_view name) {
  for (const EventCount& count : counts)
    if (count.name == name && count.value) return count.value;
  return std::nullopt;
}

std::optional<double> ipc(std::optional<double> instructions, std::optional<double> cycles) {
  return quotient(instructions, cycles);
}

std::optional<double> gflops(std::optional<double> flops, double seconds) {
  if (!flops || !(seconds > 0)) return std::nullopt;
  return *flops / seconds * 1e-9;
}

Limits limits_of(const CoreRow* core) {
  Limits limits;
  if (core != nullptr) limits.max_ipc = 2.0 * core->width;
  return limits;
}

void flag_implausible(std::span<EventCount> counts, const Limits& limits) {
  for (EventCount& count : counts) count.implausible.clear();
  EventCount* instructions = find(counts, "instructions");
  const EventCount* cycles = find(counts, "cycles");
  if (instructions != nullptr && cycles != nullptr)
    if (const auto rate = ipc(instructions->value, cycles->value); rate && *rate > limits.max_ipc)
      instructions->implausible = fmt::format(
          "{:.3g} instructions a cycle, and no core of this kind does more than {:.3g}: the two "
          "counters did not run over the same stretch, or one does not count",
          *rate, limits.max_ipc);
  for (const Bound& bound : kBounds) {
    EventCount* smaller = find(counts, bound.smaller);
    const EventCount* larger = find(counts, bound.larger);
    if (smaller != nullptr && larger != nullptr && smaller->implausible.empty() &&
        *smaller->value > *larger->value * kRatioTolerance)
      smaller->implausible =
          fmt::format("{} exceeds {}: {}", bound.smaller, bound.larger, bound.suspect);
  }
  if (!limits.peak_gflops || !limits.seconds) return;
  for (std::string_view name : kFlopNames) {
    EventCount* flops = find(counts, name);
    if (flops == nullptr) continue;
    const auto rate = gflops(flops->value, *limits.seconds);
    if (rate && *rate > *limits.peak_gflops * kPeakTolerance)
      flops->implausible = fmt::format(
          "{:.4g} GFLOP/s is above the measured peak of {:.4g}: masked lanes or thrown-away work "
          "were counted, or more threads than the peak was measured with",
          *rate, *limits.peak_gflops);
  }
}

}  // namespace hwprof
