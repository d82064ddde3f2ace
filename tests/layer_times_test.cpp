#include "src/measure/layer_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <vector>

#include "src/measure/layer_counts.h"
#include "src/measure/statistics.h"

namespace hwprof {
namespace {

// A chain of two layers that counts how often each ran, and sees whether they came in turn.
struct Chain {
  int first = 0, second = 0;
  bool in_turn = true;

  LayeredWork work() {
    return {{[this] { in_turn = in_turn && first++ == second; },
             [this] { in_turn = in_turn && ++second == first; }},
            {100.0, 0.0}};
  }
};

LayerTimesResult run(std::span<const LayeredWork> work, const LayerTimesOptions& options,
                     bool stopped = false) {
  ThreadTeam team(1, {});
  const std::atomic<bool> stop{stopped};
  return time_layers(work, team, options, stop, [](double) {});
}

TEST(LayerTimes, EachChainHasExactlyTheRepeatsAskedFor) {
  Chain a, b;
  const LayeredWork work[] = {a.work(), b.work()};
  const LayerTimesResult result = run(work, {.repeat = 37});
  ASSERT_EQ(result.chains.size(), 2U);
  for (const LayerTimes& chain : result.chains) {
    EXPECT_EQ(chain.whole_ns.size(), 37U);
    EXPECT_EQ(chain.sum_ns.size(), 37U);
    for (const Measurement& layer : chain.layers) EXPECT_EQ(layer.call_ns.size(), 37U);
    EXPECT_EQ(chain.layers[0].peak_ratio.size(), 37U);
    EXPECT_TRUE(chain.layers[1].peak_ratio.empty()) << "it has no FLOP";
  }
  EXPECT_TRUE(a.in_turn && b.in_turn);
  EXPECT_GE(a.first, 2 * 37);
  EXPECT_GT(result.clock_ns, 0);
}

TEST(LayerTimes, TheLayersOfARunAddUpToItsSum) {
  Chain chain;
  const LayeredWork work[] = {chain.work()};
  const LayerTimesResult result = run(work, {.repeat = 5});
  const LayerTimes& times = result.chains[0];
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(times.layers[0].call_ns[i] + times.layers[1].call_ns[i], times.sum_ns[i], 0.5);
  }
}

TEST(LayerTimes, WithoutTimeThereAreStillEnoughForAnInterval) {
  Chain chain;
  const LayeredWork work[] = {chain.work()};
  const LayerTimesResult result = run(work, {.budget_s = 0});
  EXPECT_GE(result.chains[0].whole_ns.size(), kMinSamplesForInterval);
}

TEST(LayerTimes, AStopEndsItAndIsSaid) {
  Chain chain;
  const LayeredWork work[] = {chain.work()};
  const LayerTimesResult result = run(work, {.repeat = 5}, true);
  EXPECT_TRUE(result.interrupted);
  EXPECT_TRUE(result.chains[0].whole_ns.empty());
}

TEST(OrderedMedian, HoldsTheMedianAndIsNearTheBootstraps) {
  std::vector<double> samples;
  for (int i = 0; i < 400; ++i) samples.push_back(100 + (i * 37) % 101);
  const Interval ordered = ordered_median(samples), bootstrap = bootstrap_median(samples);
  EXPECT_LE(ordered.low, median(samples));
  EXPECT_GE(ordered.high, median(samples));
  EXPECT_NEAR(ordered.low, bootstrap.low, 2);
  EXPECT_NEAR(ordered.high, bootstrap.high, 2);
  const double one[] = {7};
  EXPECT_EQ(ordered_median(one).low, 7);
  EXPECT_EQ(ordered_median(one).high, 7);
}

}  // namespace
}  // namespace hwprof
