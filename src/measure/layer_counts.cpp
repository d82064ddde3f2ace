#include "src/measure/layer_counts.h"

#include <chrono>

namespace hwprof {
namespace {

// A window that cannot be started or read back adds nothing: the event then has no value.
template <class F>
void count(Counting& counting, std::size_t pass, Tally& tally, const F& run) {
  const bool counted = counting.start(pass).has_value();
  run();
  if (counted) (void)counting.stop(pass, tally, 1);
}

}  // namespace

LayerCounts count_layers(std::span<const LayeredWork> chains, Counting& counting, double budget_s,
                         const std::atomic<bool>& stop) {
  constexpr std::size_t kMostRuns = 1000;
  LayerCounts counts;
  for (const LayeredWork& chain : chains) counts.chains.emplace_back(chain.layers.size());
  if (counting.passes() == 0 || !counting.refresh_threads()) return counts;
  const auto begin = std::chrono::steady_clock::now();
  const auto over = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() >
           budget_s;
  };
  for (std::size_t run = 0; run < kMostRuns && !stop.load(std::memory_order_relaxed); ++run) {
    const std::size_t pass = run % counting.passes();
    if (run >= counting.passes() && pass == 0 && over()) break;  // each pass equally often
    for (std::size_t i = 0; i < chains.size(); ++i) {
      for (std::size_t l = 0; l < chains[i].layers.size(); ++l) {
        count(counting, pass, counts.chains[i][l], chains[i].layers[l]);
      }
    }
    count(counting, pass, counts.nothing, [] {});
  }
  return counts;
}

}  // namespace hwprof
