#include "src/measure/roofline.h"

#include <fmt/format.h>

#include <algorithm>

namespace hwprof {

namespace {

std::vector<report::Bandwidth>::const_iterator holding(
    double working_set_bytes, const std::vector<report::Bandwidth>& levels) {
  return std::find_if(levels.begin(), levels.end(), [&](const report::Bandwidth& level) {
    return level.capacity_bytes == 0 || working_set_bytes <= level.capacity_bytes;
  });
}

}  // namespace

std::string level_of(double working_set_bytes, const std::vector<report::Bandwidth>& levels) {
  const auto level = holding(working_set_bytes, levels);
  return level == levels.end() ? "" : level->level;
}

Roofline roofline(const Cost& cost, const report::Peak& peak) {
  const auto level = holding(cost.working_set_bytes, peak.bandwidth);
  Roofline result;
  result.intensity = cost.flops / cost.bytes;
  if (level == peak.bandwidth.end()) return result;
  result.compute_ns = cost.flops / peak.f32_gflops;
  result.memory_ns = cost.bytes / level->read_gbs;
  result.ns = std::max(result.compute_ns, result.memory_ns);
  result.compute_bound = result.compute_ns >= result.memory_ns;
  result.level = level->level;
  return result;
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
