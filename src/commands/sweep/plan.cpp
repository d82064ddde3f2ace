#include "src/commands/sweep/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "kernels/registry.h"
#include "src/base/suggest.h"

namespace hwprof {
namespace {

constexpr std::uint64_t kPoints[] = {6, 12};       // of one range: least, most by default
constexpr std::uint64_t kPointsOfGrid[] = {4, 6};  // of each of two
constexpr std::uint64_t kLineFloats = 16;          // in a cache line
constexpr std::string_view kPoolings[] = {"pool", "pooling", "max-pool", "maxpooling"};
constexpr std::string_view kFusedSuffix = "-maxpool";  // of the operation that has both layers

bool has_variant(const OperationKind& kind, const std::string& variant) {
  const std::vector<std::string_view> names = kind.variants();
  return std::find(names.begin(), names.end(), variant) != names.end();
}

// The operation that is meant; one that is not known is left to complete_sizes().
std::string meant_operation(const SweepOptions& options) {
  if (std::find(std::begin(kPoolings), std::end(kPoolings), options.op) != std::end(kPoolings)) {
    return "maxpool";
  }
  const OperationKind* kind = find_operation(options.op);
  if (kind == nullptr || options.variant.empty() || has_variant(*kind, options.variant)) {
    return options.op;
  }
  const std::string fused = options.op + std::string(kFusedSuffix);
  kind = find_operation(fused);
  return kind != nullptr && has_variant(*kind, options.variant) ? fused : options.op;
}

// Our own optimised variant stands behind the reference.
std::string best_variant(const OperationKind& kind) {
  const std::vector<std::string_view> names = kind.variants();
  return std::string(names[std::min<std::size_t>(1, names.size() - 1)]);
}

std::uint64_t points_of(const SweepRange& range, const SweepOptions& options) {
  if (options.points) return *options.points;
  const auto& [least, most] = options.ranges.size() == 1 ? kPoints : kPointsOfGrid;
  const double doublings =
      std::log2(static_cast<double>(range.high) / static_cast<double>(range.low));
  return std::clamp(1 + static_cast<std::uint64_t>(std::llround(doublings)), least, most);
}

Result<void> check_names(const SweepOptions& options, const OperationKind& kind) {
  for (const SweepRange& range : options.ranges) {
    std::vector<std::string_view> names;
    for (const SizeParameter& size : kind.sizes) names.push_back(size.name);
    if (std::find(names.begin(), names.end(), range.name) == names.end()) {
      const std::string near = did_you_mean(nearest(range.name, std::span(names)));
      return usage_error(
          fmt::format("--param: {} has no size '{}'", kind.name, range.name),
          near.empty() ? fmt::format("its sizes are {}", fmt::join(names, ", ")) : near);
    }
    for (const auto& [name, value] : options.sizes) {
      if (name != range.name) continue;
      return usage_error(
          fmt::format("{} is swept with --param and set to {} with --shape", name, value),
          "give it once");
    }
  }
  return {};
}

std::string point_text(const SweepPlan& plan, const std::vector<std::uint64_t>& at) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < at.size(); ++i)
    parts.push_back(fmt::format("{}={}", plan.ranges[i].name, at[i]));
  return fmt::format("{}", fmt::join(parts, ", "));
}

Result<void> check_memory(const SweepPlan& plan, std::uint64_t memory_bytes) {
  double bytes = 0, largest = 0;
  std::size_t largest_at = 0;
  for (std::size_t i = 0; i < plan.specs.size(); ++i) {
    const double needed = bytes_needed(plan.specs[i]);
    bytes += needed;
    if (needed > largest) largest = needed, largest_at = i;
  }
  if (bytes <= static_cast<double>(memory_bytes)) return {};
  return usage_error(
      fmt::format("the sweep needs {} of memory, of which {} for {}; the machine has {}",
                  in_gib(bytes), in_gib(largest), point_text(plan, plan.at[largest_at]),
                  in_gib(static_cast<double>(memory_bytes))),
      "all points are in memory at once, since they are measured by turns: choose smaller sizes");
}

// Multiples of `unit`, each once.
std::vector<std::uint64_t> steps_of(std::uint64_t unit, std::uint64_t low, std::uint64_t high,
                                    std::uint64_t points) {
  std::vector<std::uint64_t> sizes;
  const double ratio = static_cast<double>(high) / static_cast<double>(low);
  for (std::uint64_t i = 0; i < points; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(points - 1);
    const double exact = static_cast<double>(low) * std::pow(ratio, share);
    const auto size =
        unit * static_cast<std::uint64_t>(std::llround(exact / static_cast<double>(unit)));
    if (sizes.empty() || size > sizes.back()) sizes.push_back(size);
  }
  return sizes;
}

}  // namespace

std::vector<std::uint64_t> geometric_steps(std::uint64_t low, std::uint64_t high,
                                           std::uint64_t points) {
  const bool whole_lines = low % kLineFloats == 0 && high % kLineFloats == 0;
  std::vector<std::uint64_t> sizes = steps_of(whole_lines ? kLineFloats : 1, low, high, points);
  // So many that lines are too coarse: then in between as well.
  return sizes.size() < points ? steps_of(1, low, high, points) : sizes;
}

Result<SweepPlan> plan_sweep(const SweepOptions& options, std::uint64_t memory_bytes) {
  SweepPlan plan{.op = meant_operation(options), .variant = options.variant};
  const OperationKind* kind = find_operation(plan.op);
  if (kind != nullptr) {
    if (plan.variant.empty()) plan.variant = best_variant(*kind);
    if (auto known = check_names(options, *kind); !known) return error_of(known);
  }
  plan.ranges = options.ranges;
  const std::vector<std::uint64_t> first =
      geometric_steps(plan.ranges[0].low, plan.ranges[0].high, points_of(plan.ranges[0], options));
  for (const std::uint64_t size : first) plan.at.push_back({size});
  if (plan.ranges.size() > 1) {
    const std::vector<std::uint64_t> second = geometric_steps(
        plan.ranges[1].low, plan.ranges[1].high, points_of(plan.ranges[1], options));
    plan.at.clear();
    for (const std::uint64_t a : first)
      for (const std::uint64_t b : second) plan.at.push_back({a, b});
  }
  for (const std::vector<std::uint64_t>& at : plan.at) {
    OperationSpec& spec = plan.specs.emplace_back();
    spec.op = plan.op;
    spec.variant = plan.variant;
    spec.sizes = options.sizes;
    spec.seed = options.measure.seed;
    for (std::size_t i = 0; i < at.size(); ++i) spec.sizes.emplace_back(plan.ranges[i].name, at[i]);
    const Result<Sizes> sizes = complete_sizes(spec);
    if (!sizes) return error_of(sizes);
    if (plan.specs.size() > 1) continue;
    for (const auto& size : *sizes) {
      const bool swept =
          std::any_of(plan.ranges.begin(), plan.ranges.end(),
                      [&size](const SweepRange& range) { return range.name == size.first; });
      if (!swept) plan.held.push_back(size);
    }
  }
  if (auto fits = check_memory(plan, memory_bytes); !fits) return error_of(fits);
  return plan;
}

}  // namespace hwprof
