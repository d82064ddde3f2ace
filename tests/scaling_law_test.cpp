#include "src/measure/scaling_law.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace hwprof {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// 1 % of noise, always the same: what a quiet machine has.
std::vector<LawPoint> measured(const std::function<double(double)>& time_ns,
                               const std::function<double(double)>& model,
                               std::uint64_t high = 4096, double noise = 0.01) {
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> factor(0, noise);
  std::vector<LawPoint> points;
  for (std::uint64_t size = 32; size <= high; size *= 2) {
    LawPoint& point = points.emplace_back();
    const auto x = static_cast<double>(size);
    point.size = size;
    point.model = model(x);
    point.working_set_bytes = 100 * x;
    for (int i = 0; i < 15; ++i) point.samples.push_back(time_ns(x) * factor(random));
  }
  return points;
}

double linear(double x) { return 10 * x; }

const LawSubject kTime{.size = "n"};

TEST(ScalingLaw, ALinearTimeAgreesFromTheFirstSizeOn) {
  const auto law = scaling_law(measured([](double x) { return 3 * x; }, linear), kTime);
  EXPECT_EQ(law.agrees, true) << law.text;
  EXPECT_EQ(law.from, 32u);
  EXPECT_EQ(law.to, 4096u);
  EXPECT_NEAR(*law.exponent, 1, 0.02);
  EXPECT_LE(*law.low, *law.exponent);
  EXPECT_GE(*law.high, *law.exponent);
  EXPECT_TRUE(law.causes.empty());
  EXPECT_THAT(law.text, HasSubstr("n^1.0"));
}

TEST(ScalingLaw, AQuadraticTimeDoesNotAgreeWithALinearModel) {
  const auto law = scaling_law(measured([](double x) { return x * x / 50; }, linear), kTime);
  EXPECT_EQ(law.agrees, false) << law.text;
  EXPECT_NEAR(*law.exponent, 2, 0.05);
  EXPECT_NEAR(*law.model_exponent, 1, 1e-9);
  EXPECT_THAT(law.causes, ElementsAre("no cause found"));
}

TEST(ScalingLaw, ATimeOfNLogNDoesNotAgreeWithALinearModel) {
  const auto law =
      scaling_law(measured([](double x) { return x * std::log(x); }, linear, 2048, 0.002), kTime);
  EXPECT_EQ(law.agrees, false) << law.text;
}

// n-k+1 positions are no pure power of n, nor is the time of a kernel that works on just those.
TEST(ScalingLaw, TheModelIsFittedOverTheSameSizes) {
  const auto positions = [](double x) { return 5 * (x - 20); };
  const auto law = scaling_law(measured(positions, positions, 512), kTime);
  EXPECT_EQ(law.agrees, true) << law.text;
  EXPECT_GT(*law.model_exponent, 1.1);
}

TEST(ScalingLaw, AFixedCostSetsTheSizeFromWhichOnItAgrees) {
  const auto with_cost = [](double x) { return 400 + 3 * x; };
  const auto law = scaling_law(measured(with_cost, linear, 32768), kTime);
  EXPECT_EQ(law.agrees, true) << law.text;
  EXPECT_GT(law.from, 256u);
  EXPECT_LE(law.from, 4096u);
  ASSERT_EQ(law.causes.size(), 1u);
  EXPECT_THAT(law.causes[0], AllOf(StartsWith("a fixed cost"), HasSubstr("n=32")));
  // Where it is a fifth of the time at 512 still, time is no power of 1 up to 4096.
  const auto small = scaling_law(measured(with_cost, linear, 4096), kTime);
  EXPECT_EQ(small.agrees, false) << small.text;
  EXPECT_THAT(small.causes, ElementsAre(StartsWith("a fixed cost")));
}

TEST(ScalingLaw, NothingButAFixedCostDoesNotAgree) {
  const auto law = scaling_law(measured([](double x) { return 9000 + x; }, linear), kTime);
  EXPECT_EQ(law.agrees, false) << law.text;
  EXPECT_THAT(law.causes, Contains(StartsWith("a fixed cost")));
}

LawSubject with_caches() {
  LawSubject subject = kTime;
  subject.levels = {{.level = "L1", .capacity_bytes = 32 * 1024},
                    {.level = "L2", .capacity_bytes = 128 * 1024},
                    {.level = "memory", .capacity_bytes = 0}};
  return subject;
}

// The model's bytes are 100 n: L2 is left at n=2048.
TEST(ScalingLaw, ACacheThatIsLeftAtTheEndIsNamed) {
  const auto dear = [](double x) { return x > 1310 ? 9 * x * std::sqrt(x / 1310) : 3 * x; };
  const auto law = scaling_law(measured(dear, linear, 4096), with_caches());
  EXPECT_EQ(law.agrees, false) << law.text;
  EXPECT_THAT(law.causes, ElementsAre(AllOf(StartsWith("a cache that is left"), HasSubstr("n=2048"),
                                            HasSubstr("fit L2"))));
}

// A level is left at n=512, and one size far beyond is slow: that is no price of the level.
TEST(ScalingLaw, OneSlowSizeIsNoCache) {
  const auto spike = [](double x) { return x > 2000 ? 9 * x : 3 * x; };
  const auto law = scaling_law(measured(spike, linear, 2048),
                               {.size = "n",
                                .levels = {{.level = "L1", .capacity_bytes = 32 * 1024},
                                           {.level = "memory", .capacity_bytes = 0}}});
  EXPECT_THAT(law.causes, ::testing::Each(::testing::Not(StartsWith("a cache"))));
}

// A quadratic time makes every unit dearer than the one before: also where a level is left.
TEST(ScalingLaw, ACacheIsNotBlamedForWhatBeganBefore) {
  const auto quadratic = [](double x) { return x * x / 50; };
  const auto law = scaling_law(measured(quadratic, linear), with_caches());
  EXPECT_EQ(law.agrees, false);
  EXPECT_THAT(law.causes, ElementsAre("no cause found"));
}

TEST(ScalingLaw, AKneeBelowTheRestIsNoDisagreement) {
  const auto knee = [](double x) { return x < 100 ? x : 3 * x; };
  const auto law = scaling_law(measured(knee, linear), kTime);
  EXPECT_EQ(law.agrees, true) << law.text;
  EXPECT_GT(law.from, 32u);
}

TEST(ScalingLaw, ASuddenChangeOfPriceIsAnotherKernelOfALibrary) {
  LawSubject subject = kTime;
  subject.needs_blas = true;
  const auto chosen = [](double x) { return x > 1000 ? 1.5 * x : 4 * x; };
  const auto law = scaling_law(measured(chosen, linear, 2048), subject);
  EXPECT_EQ(law.agrees, false) << law.text;
  EXPECT_THAT(law.causes, ElementsAre(AllOf(StartsWith("another kernel"), HasSubstr("n=512"),
                                            HasSubstr("n=1024"), HasSubstr("cheaper"))));
  EXPECT_THAT(scaling_law(measured(chosen, linear, 2048), kTime).causes,
              ElementsAre("no cause found"))
      << "our own kernels choose nothing";
}

// Each within 7 % of the model, yet of any three of them the slope is another.
TEST(ScalingLaw, FewSizesCloseTogetherLeaveItOpen) {
  std::vector<LawPoint> points;
  const std::pair<std::uint64_t, double> off[] = {{10, 0.93}, {14, 1.07}, {20, 1.07}, {30, 0.93}};
  for (const auto& [k, factor] : off) {
    const auto x = static_cast<double>(k);
    points.push_back({k, x, std::vector<double>(9, 500 * x * factor), 100 * x});
  }
  const auto law = scaling_law(points, kTime);
  EXPECT_EQ(law.agrees, std::nullopt) << law.text;
  EXPECT_THAT(law.text, HasSubstr("it would take a larger range"));
  points[2].samples.assign(9, 500 * 20 * 1.5);
  const auto spike = scaling_law(points, kTime);
  EXPECT_EQ(spike.agrees, false) << spike.text;
  EXPECT_THAT(spike.text, HasSubstr("no line"));
}

// An interval that only touches the tolerance proves nothing.
TEST(ScalingLaw, NoiseIsNotJudgedAndTheTextSaysWhatItWouldTake) {
  const auto law = scaling_law(measured([](double x) { return 3 * x; }, linear, 256, 0.2), kTime);
  EXPECT_EQ(law.agrees, std::nullopt) << law.text;
  EXPECT_THAT(law.text, AllOf(StartsWith("not judged"), HasSubstr("it would take about"),
                              HasSubstr("times as many samples")));
  const auto wild = scaling_law(measured([](double x) { return 3 * x; }, linear, 4096, 1.5), kTime);
  EXPECT_EQ(wild.agrees, std::nullopt) << wild.text;
}

// From 40,000 on n log n is nearly n; the whole of the interval has to be inside.
TEST(ScalingLaw, NLogNIsRefusedUpToAHundredThousand) {
  std::vector<LawPoint> points;
  for (const std::uint64_t n : {1000u, 3000u, 10000u, 30000u, 55000u, 100000u}) {
    const auto x = static_cast<double>(n);
    points.push_back({n, x, std::vector<double>(9, x * std::log(x)), x});
  }
  const auto law = scaling_law(points, kTime);
  EXPECT_EQ(law.agrees, false) << law.text;
}

// A fixed cost bends the one down as far as the logarithm bends the other up.
TEST(ScalingLaw, WhatTheLargestSizesContradictSmallerOnesCannotProve) {
  const auto both = [](double x) { return 3000 + x * std::log(x); };
  std::vector<LawPoint> points = measured(both, linear, 1 << 16, 0.001);
  const auto law = scaling_law(points, kTime);
  EXPECT_EQ(law.agrees, false) << law.text;
}

TEST(ScalingLaw, TooFewOrTooCloseSizesAreNotJudged) {
  const auto few = measured([](double x) { return x; }, linear, 128);
  EXPECT_EQ(scaling_law(few, kTime).agrees, std::nullopt);
  EXPECT_FALSE(scaling_law(few, kTime).reason.empty());
  EXPECT_EQ(scaling_law({}, kTime).agrees, std::nullopt);
  EXPECT_EQ(scaling_law({}, kTime).reason,
            "no size was measured: an exponent needs 4 sizes, and 3 times");
  std::vector<LawPoint> close = measured([](double x) { return x; }, linear);
  for (std::size_t i = 0; i < close.size(); ++i) close[i].size = 100 + i;
  EXPECT_EQ(scaling_law(close, kTime).agrees, std::nullopt);
}

TEST(ScalingLaw, AGridHasAnExponentForEachSize) {
  std::vector<GridPoint> points;
  for (const std::uint64_t n : {32u, 64u, 128u, 256u}) {
    for (const std::uint64_t k : {2u, 4u, 8u}) {
      const auto work = static_cast<double>(n * k);
      points.push_back({n, k, 10 * work, {3 * work, 3.03 * work, 2.98 * work}});
    }
  }
  const auto laws = joint_laws(points, "n", "k");
  ASSERT_EQ(laws.size(), 2u);
  for (const auto& law : laws) {
    EXPECT_EQ(law.agrees, true) << law.text;
    EXPECT_NEAR(*law.exponent, 1, 0.01);
    EXPECT_EQ(law.held, "joint");
  }
  EXPECT_EQ(laws[1].size, "k");
  EXPECT_EQ(laws[1].to, 8u);
  for (GridPoint& point : points) point.samples = {static_cast<double>(point.first * point.first)};
  const auto wrong = joint_laws(points, "n", "k");
  EXPECT_EQ(wrong[0].agrees, false);
  EXPECT_EQ(wrong[1].agrees, false);
}

}  // namespace
}  // namespace hwprof
