#include "src/measure/roofline.h"

#include <fmt/format.h>

#include <algorithm>

namespace hwprof {

namespace {

std::vector<LevelBandwidth>::const_iterator holding(double working_set_bytes,
                                                    const std::vector<LevelBandwidth>& levels) {
  return std::find_if(levels.begin(), levels.end(), [&](const LevelBandwidth& level) {
    return level.capacity_bytes == 0 || working_set_bytes <= level.capacity_bytes;
  });
}

}  // namespace

std::string level_of(double working_set_bytes, const std::vector<LevelBandwidth>& levels) {
  const auto level = holding(working_set_bytes, levels);
  return level == levels.end() ? "" : level->level;
}

Roofline roofline(const Cost& cost, double peak_gflops, const std::vector<LevelBandwidth>& levels) {
  const auto level = holding(cost.working_set_bytes, levels);
  Roofline result;
  result.intensity = cost.flops / cost.bytes;
  if (level == levels.end()) return result;
  result.compute_ns = cost.flops / peak_gflops;
  result.memory_ns = cost.bytes / level->read_gbs;
  result.ns = std::max(result.compute_ns, result.memory_ns);
  result.compute_bound = result.compute_ns >= result.memory_ns;
  result.level = level->level;
  return result;
}

std::vector<LevelBandwidth> cache_levels(const Machine& machine, int threads) {
  std::vector<LevelBandwidth> levels;
  for (const CacheLevel& cache : machine.caches) {
    if (cache.bytes == 0) continue;  // a virtual machine may tell the level, but not the size
    const double instances = std::max(1.0, static_cast<double>(threads) / cache.shared_by);
    levels.push_back(
        {fmt::format("L{}", cache.level), static_cast<double>(cache.bytes) * instances, 0});
  }
  levels.push_back({"memory", 0, 0});
  return levels;
}

}  // namespace hwprof
