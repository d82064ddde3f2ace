#include "src/measure/roofline.h"

#include <gtest/gtest.h>

#include "kernels/thread_team.h"
#include "src/measure/ceilings.h"

namespace hwprof {
namespace {

using Levels = std::vector<report::Bandwidth>;

report::Bandwidth level(const char* name, double capacity_bytes, double read_gbs) {
  report::Bandwidth level;
  level.level = name;
  level.capacity_bytes = capacity_bytes;
  level.read_gbs = read_gbs;
  return level;
}

report::Peak peak_with(Levels levels) {
  report::Peak peak;
  peak.f32_gflops = 100;
  for (report::Bandwidth& level : levels) {  // a point at the half of each, as it is measured
    level.working_set_bytes =
        level.capacity_bytes > 0 ? static_cast<std::uint64_t>(level.capacity_bytes / 2) : 20000;
    peak.bandwidth_by_size.push_back(level);
  }
  peak.bandwidth = std::move(levels);
  return peak;
}

const report::Peak kPeak =
    peak_with({level("L1", 1000, 400), level("L2", 10000, 100), level("memory", 0, 10)});

TEST(Roofline, ManyFlopAByteAreComputeBound) {
  const Roofline r = roofline({.flops = 1e6, .bytes = 500, .working_set_bytes = 500}, kPeak);
  EXPECT_TRUE(r.compute_bound);
  EXPECT_DOUBLE_EQ(r.ns, 1e6 / 100);
  EXPECT_DOUBLE_EQ(r.intensity, 2000);
  EXPECT_EQ(r.level, "L1");
}

TEST(Roofline, FewFlopAByteAreBoundByTheLevelThatHoldsTheBytes) {
  const Roofline r = roofline({.flops = 1000, .bytes = 5000, .working_set_bytes = 5000}, kPeak);
  EXPECT_FALSE(r.compute_bound);
  EXPECT_EQ(r.level, "L2");
  EXPECT_DOUBLE_EQ(r.ns, 5000.0 / 100);
}

TEST(Roofline, BytesThatAreReadAgainComeFromWhereTheWorkingSetFits) {
  const Roofline r = roofline({.flops = 10, .bytes = 1e6, .working_set_bytes = 900}, kPeak);
  EXPECT_EQ(r.level, "L1");
  EXPECT_DOUBLE_EQ(r.ns, 1e6 / 400);
}

TEST(Roofline, WorkBeyondEveryCacheIsBoundByMemory) {
  const Roofline r =
      roofline({.flops = 0, .comparisons = 9, .bytes = 1e6, .working_set_bytes = 1e6}, kPeak);
  EXPECT_EQ(r.level, "memory");
  EXPECT_DOUBLE_EQ(r.ns, 1e6 / 10);
  EXPECT_DOUBLE_EQ(r.intensity, 0);
}

// As where the run was interrupted before any bandwidth was measured.
TEST(Roofline, WithoutALevelThatHoldsTheWorkThereIsNone) {
  const Cost cost{.flops = 100, .bytes = 50, .working_set_bytes = 5000};
  for (const auto& levels : {Levels{}, Levels{level("L1", 1000, 400)}}) {
    const Roofline r = roofline(cost, peak_with(levels));
    EXPECT_EQ(r.level, "");
    EXPECT_EQ(r.ns, 0);
    EXPECT_DOUBLE_EQ(r.intensity, 2);
  }
}

// A virtual machine names its host's cache, of which it has a part.
TEST(Roofline, TheCeilingIsThatOfAnArrayAsLargeWhateverTheCachesNominalSize) {
  report::Peak peak;
  for (const auto& [bytes, read, copy] :
       {std::tuple(1000U, 400.0, 300.0), {2000U, 90.0, 110.0}, {4000U, 12.0, 10.0}}) {
    report::Bandwidth& point = peak.bandwidth_by_size.emplace_back();
    point.working_set_bytes = bytes;
    point.read_gbs = read;
    point.copy_gbs = copy;
  }
  EXPECT_EQ(ceiling_gbs(10, peak), 400) << "below the smallest: the smallest";
  EXPECT_EQ(ceiling_gbs(1999, peak), 400) << "a bound from above";
  EXPECT_EQ(ceiling_gbs(2000, peak), 110) << "the best mix of reads and writes";
  EXPECT_EQ(ceiling_gbs(1e9, peak), 12);
  peak.threads = 4;
  EXPECT_EQ(ceiling_gbs(7999, peak), 400) << "four arrays";
  EXPECT_FALSE(ceiling_gbs(10, report::Peak{}));
}

TEST(Roofline, ALevelIsThePointThatFillsHalfOfIt) {
  report::Peak peak;
  for (const unsigned bytes : {100U, 400U, 600U, 4000U, 40000U})
    peak.bandwidth_by_size.emplace_back().working_set_bytes = bytes;
  const Levels levels =
      bandwidth_of({level("L1", 1000, 0), level("L2", 10000, 0), level("memory", 0, 0)}, peak);
  ASSERT_EQ(levels.size(), 3U);
  EXPECT_EQ(levels[0].working_set_bytes, 400U);
  EXPECT_EQ(levels[1].working_set_bytes, 4000U);
  EXPECT_EQ(levels[2].working_set_bytes, 40000U);
}

// As in a virtual machine that tells the levels, but not their sizes.
TEST(Roofline, ACacheOfUnknownSizeIsNoLevel) {
  Machine machine;
  machine.caches = {{.level = 1, .bytes = 0}, {.level = 2, .bytes = 1000}};
  const auto levels = cache_levels(machine, 1);
  ASSERT_EQ(levels.size(), 2u);
  EXPECT_EQ(levels[0].level, "L2");
  EXPECT_EQ(levels[1].level, "memory");
}

TEST(Roofline, PrivateCachesAddUpOverThreadsAndSharedOnesDoNot) {
  Machine machine;
  machine.caches = {{1, 32768, 1}, {2, 1 << 20, 2}, {3, 32 << 20, 8}};
  const auto one = cache_levels(machine, 1), four = cache_levels(machine, 4);
  ASSERT_EQ(one.size(), 4U);
  EXPECT_EQ(one[0].capacity_bytes, 32768);
  EXPECT_EQ(four[0].capacity_bytes, 4 * 32768);
  EXPECT_EQ(four[1].capacity_bytes, 2 * (1 << 20));
  EXPECT_EQ(four[2].capacity_bytes, 32 << 20);
  EXPECT_EQ(four[3].level, "memory");
  EXPECT_EQ(four[3].capacity_bytes, 0);
}

TEST(Roofline, TheLargestArraysLieInMemoryHoweverLargeTheCaches) {
  constexpr double kMiB = 1024 * 1024;
  constexpr std::uint64_t kMemory = std::uint64_t{64} << 30U;
  const auto largest = [&](double cache_mib, std::uint64_t memory, int threads) {
    return static_cast<double>(largest_working_set(
               {level("L1", 32768, 0), level("L3", cache_mib * kMiB, 0), level("memory", 0, 0)},
               memory, threads)) /
           kMiB;
  };
  EXPECT_EQ(largest(8, kMemory, 1), 32);
  EXPECT_EQ(largest(100, kMemory, 1), 256);
  EXPECT_EQ(largest(260, kMemory, 1), 520) << "what 256 MiB measured was the cache";
  EXPECT_EQ(largest(260, kMemory, 2), 260);
  EXPECT_EQ(largest(260, std::uint64_t{1} << 30U, 1), 128);
}

// Steps of sqrt(2) do not come to it: without it there would be no point in memory.
TEST(Roofline, TheLargestArraysAreMeasured) {
  ThreadTeam team(1, {});
  for (const std::uint64_t largest : {std::uint64_t{65536}, std::uint64_t{100'000}}) {
    const auto points = measure_bandwidth(largest, team);
    ASSERT_GT(points.size(), 3U);
    EXPECT_LE(points.back().working_set_bytes, largest);
    EXPECT_GT(points.back().working_set_bytes, largest * 9 / 10);
    for (std::size_t i = 1; i < points.size(); ++i)
      EXPECT_GT(points[i].working_set_bytes, points[i - 1].working_set_bytes);
  }
}

TEST(Roofline, WhatIsOverItIsFlagged) {
  using report::Bound;
  EXPECT_EQ(why_over_roofline(0.9, Bound::kCompute, ""), "");
  EXPECT_EQ(why_over_roofline(1.02, Bound::kMemory, "L2"), "");
  EXPECT_NE(why_over_roofline(1.021, Bound::kCompute, "").find("FMA peak"), std::string::npos);
  EXPECT_NE(why_over_roofline(1.021, Bound::kMemory, "L3").find("faster level than L3"),
            std::string::npos);
}

}  // namespace
}  // namespace hwprof
