#include "src/measure/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace hwprof {

namespace {

std::vector<report::Bandwidth>::const_iterator holding(
    double working_set_bytes, const std::vector<report::Bandwidth>& levels) {
  return std::find_if(levels.begin(), levels.end(), [&](const report::Bandwidth& level) {
    return level.capacity_bytes == 0 || working_set_bytes <= level.capacity_bytes;
  });
}

}  // namespace

std::string why_over_roofline(double fraction, std::optional<report::Bound> bound,
                              const std::string& level) {
  constexpr double kOver = 1.02;
  if (fraction <= kOver) return "";
  if (bound == report::Bound::kCompute)
    return "faster than the FMA peak beside it: the model counts more FLOP than are done, or the "
           "peak was disturbed";
  return fmt::format(
      "its bytes come from a faster level than {}, in whose size its working set falls", level);
}

std::string level_of(double working_set_bytes, const std::vector<report::Bandwidth>& levels) {
  const auto level = holding(working_set_bytes, levels);
  return level == levels.end() ? "" : level->level;
}

Roofline roofline(const Cost& cost, const report::Peak& peak) {
  const auto level = holding(cost.working_set_bytes, peak.bandwidth);
  Roofline result;
  result.intensity = cost.flops / cost.bytes;
  const std::optional<double> gbs = ceiling_gbs(cost.working_set_bytes, peak);
  if (level == peak.bandwidth.end() || !gbs) return result;
  result.compute_ns = cost.flops / peak.f32_gflops;
  result.memory_ns = cost.bytes / *gbs;
  result.ns = std::max(result.compute_ns, result.memory_ns);
  result.compute_bound = result.compute_ns >= result.memory_ns;
  result.level = level->level;
  return result;
}

std::optional<double> ceiling_gbs(double working_set_bytes, const report::Peak& peak) {
  // A smaller array is faster: the largest point below bounds from above. So does a larger one that
  // was faster, by whatever disturbed the smaller.
  const std::vector<report::Bandwidth>& points = peak.bandwidth_by_size;
  std::optional<double> best;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool last = i + 1 == points.size();
    const auto next = last ? 0 : static_cast<double>(points[i + 1].working_set_bytes);
    if (!last && next * peak.threads <= working_set_bytes) continue;
    const auto& [read, copy, triad] =
        std::tie(points[i].read_gbs, points[i].copy_gbs, points[i].triad_gbs);
    best = std::max({best.value_or(0), read, copy, triad});
  }
  return best;
}

std::vector<report::Bandwidth> bandwidth_of(const std::vector<report::Bandwidth>& levels,
                                            const report::Peak& peak) {
  std::vector<report::Bandwidth> found;
  double held_bytes = 0;  // by the levels before
  for (const report::Bandwidth& level : levels) {
    const report::Bandwidth* of = nullptr;
    for (const report::Bandwidth& point : peak.bandwidth_by_size) {
      const double all_bytes = static_cast<double>(point.working_set_bytes) * peak.threads;
      const bool fits = level.capacity_bytes == 0 || all_bytes <= level.capacity_bytes / 2;
      if (fits && all_bytes > held_bytes) of = &point;
    }
    if (of != nullptr) {
      report::Bandwidth& result = found.emplace_back(*of);
      result.level = level.level;
      result.capacity_bytes = level.capacity_bytes;
    }
    held_bytes = level.capacity_bytes / 2;
  }
  return found;
}

std::uint64_t largest_working_set(const std::vector<report::Bandwidth>& levels,
                                  std::uint64_t memory_bytes, int threads) {
  // Passes over more than that take a second and longer, but what a large cache holds is not
  // memory.
  constexpr double kEnoughBytes = 256.0 * 1024 * 1024;
  double size = kEnoughBytes;
  for (const report::Bandwidth& level : levels) {  // the last cache counts; memory has no capacity
    const double cache = level.capacity_bytes;
    if (cache > 0) size = std::min(4 * cache, std::max(kEnoughBytes, 2 * cache));
  }
  if (memory_bytes > 0) size = std::min(size, static_cast<double>(memory_bytes) / 8);
  return static_cast<std::uint64_t>(size / threads);
}

std::vector<report::Bandwidth> cache_levels(const Machine& machine, int threads) {
  std::vector<report::Bandwidth> levels;
  for (const CacheLevel& cache : machine.caches) {
    if (cache.bytes == 0) continue;  // a virtual machine may tell the level, but not the size
    const double instances = std::max(1.0, static_cast<double>(threads) / cache.shared_by);
    report::Bandwidth& level = levels.emplace_back();
    level.level = fmt::format("L{}", cache.level);
    level.capacity_bytes = static_cast<double>(cache.bytes) * instances;
  }
  levels.emplace_back().level = "memory";
  return levels;
}

}  // namespace hwprof
