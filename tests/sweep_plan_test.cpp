#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/commands/sweep/plan.h"

namespace hwprof {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kMemory = std::uint64_t{16} << 30;

SweepOptions asked(const std::string& op, const std::string& variant,
                   std::vector<SweepRange> ranges, Sizes sizes = {}) {
  SweepOptions options;
  options.op = op;
  options.variant = variant;
  options.ranges = std::move(ranges);
  options.sizes = std::move(sizes);
  return options;
}

TEST(SweepPlan, StepsAreGeometricDistinctAndHoldBothEnds) {
  EXPECT_THAT(geometric_steps(32, 2048, 7), ElementsAre(32, 64, 128, 256, 512, 1024, 2048));
  EXPECT_THAT(geometric_steps(1, 4, 12), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(geometric_steps(7, 2147483647, 2), ElementsAre(7, 2147483647));
  EXPECT_THAT(geometric_steps(64, 1024, 6), ElementsAre(64, 112, 192, 336, 592, 1024))
      << "whole cache lines";
  EXPECT_GT(geometric_steps(16, 256, 60).size(), 40u) << "more than there are lines";
  EXPECT_THAT(geometric_steps(64, 1000, 4), ElementsAre(64, 160, 400, 1000));
}

TEST(SweepPlan, OnePointForEachDoubling) {
  const auto plan = plan_sweep(asked("conv1d", "simd", {{"n", 32, 2048}}), kMemory);
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->at.size(), 7u);
  EXPECT_THAT(plan->held, ElementsAre(std::pair<std::string, std::uint64_t>("k", 2),
                                      std::pair<std::string, std::uint64_t>("d_e", 300),
                                      std::pair<std::string, std::uint64_t>("d_c", 128),
                                      std::pair<std::string, std::uint64_t>("batch", 64)));
}

TEST(SweepPlan, TwoRangesMakeAGrid) {
  const auto plan = plan_sweep(asked("linear", "simd", {{"l", 8, 64}, {"d_c", 8, 64}}), kMemory);
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->at.size(), 16u);
  EXPECT_THAT(plan->at.front(), ElementsAre(8, 8));
  EXPECT_THAT(plan->at.back(), ElementsAre(64, 64));
}

TEST(SweepPlan, TakesTheWordsOfTheCourse) {
  const auto fused = plan_sweep(asked("conv1d", "fused", {{"n", 32, 64}}), kMemory);
  ASSERT_TRUE(fused) << fused.error().what;
  EXPECT_EQ(fused->op, "conv1d-maxpool");
  const auto pooling = plan_sweep(asked("pooling", "", {{"n", 32, 64}}), kMemory);
  ASSERT_TRUE(pooling) << pooling.error().what;
  EXPECT_EQ(pooling->op, "maxpool");
  EXPECT_EQ(pooling->variant, "simd") << "the reference is nobody's default";
}

TEST(SweepPlan, MistakesAreNamed) {
  const auto refusal = [](const SweepOptions& options) {
    const auto plan = plan_sweep(options, kMemory);
    EXPECT_FALSE(plan);
    EXPECT_EQ(plan.error().fault, Fault::kUsage);
    return plan.error().what + " " + plan.error().hint;
  };
  EXPECT_THAT(refusal(asked("conv1", "simd", {{"n", 8, 16}})), HasSubstr("conv1d"));
  EXPECT_THAT(refusal(asked("conv1d", "simdd", {{"n", 8, 16}})), HasSubstr("simd?"));
  EXPECT_THAT(refusal(asked("conv1d", "simd", {{"dc", 8, 16}})), HasSubstr("d_c"));
  EXPECT_THAT(refusal(asked("linear", "simd", {{"n", 8, 16}})), HasSubstr("linear has no size"));
  EXPECT_THAT(refusal(asked("conv1d", "simd", {{"n", 8, 16}}, {{"n", 9}})), HasSubstr("--shape"));
  EXPECT_THAT(refusal(asked("conv1d", "simd", {{"n", 8, 16}}, {{"x", 9}})), HasSubstr("'x'"));
  EXPECT_THAT(refusal(asked("conv1d", "simd", {{"k", 1, 16}}, {{"n", 9}})), HasSubstr("n=9"));
}

TEST(SweepPlan, SaysHowMuchMemoryAllPointsNeedTogether) {
  SweepOptions options = asked("linear", "simd", {{"l", 1024, 1048576}}, {{"d_c", 16384}});
  const auto plan = plan_sweep(options, kMemory);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().what, HasSubstr("l=1048576"));
  EXPECT_THAT(plan.error().what, HasSubstr("the machine has 16 GiB"));
  // Each point alone fits, all of them together do not.
  options = asked("linear", "simd", {{"l", 65536, 131072}}, {{"d_c", 8192}});
  EXPECT_TRUE(plan_sweep(options, std::uint64_t{64} << 30));
  EXPECT_FALSE(plan_sweep(options, std::uint64_t{16} << 30));
}

}  // namespace
}  // namespace hwprof
