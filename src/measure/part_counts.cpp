#include "src/measure/part_counts.h"

#include "src/base/clock.h"

namespace hwprof {

PartCounts count_parts(std::span<const Work> work, Counting& counting, double budget_s,
                       const std::atomic<bool>& stop) {
  constexpr std::size_t kMostCalls = 1000;
  PartCounts counts;
  for (const Work& each : work) counts.work.emplace_back(each.parts.size());
  if (counting.passes() == 0 || !counting.refresh_threads()) return counts;
  const double begin = wall_ns();
  for (std::size_t call = 0; call < kMostCalls && !stop.load(std::memory_order_relaxed); ++call) {
    const std::size_t pass = call % counting.passes();
    const bool over = wall_ns() - begin > budget_s * 1e9;
    if (call >= counting.passes() && pass == 0 && over) break;  // each pass equally often
    for (std::size_t i = 0; i < work.size(); ++i) {
      for (std::size_t p = 0; p < work[i].parts.size(); ++p) {
        counting.count(pass, counts.work[i][p], 1, work[i].parts[p].run);
      }
    }
    counting.count(pass, counts.nothing, 1, [] {});
  }
  return counts;
}

}  // namespace hwprof
