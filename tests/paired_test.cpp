#include "src/measure/paired.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace hwprof {
namespace {

// Largest rank sum that is significant at 0.05 on both sides together: Wilcoxon and Wilcox, "Some
// Rapid Approximate Statistical Procedures" (1964), as tables of the test have it.
TEST(Paired, CutsAsTheTablesOfTheSignedRankTestDo) {
  const std::pair<std::size_t, std::size_t> table[] = {
      {6, 0}, {7, 2}, {8, 3}, {9, 5}, {10, 8}, {12, 13}, {15, 25}, {20, 52}, {25, 89}, {30, 137}};
  for (const auto& [pairs, largest] : table)
    EXPECT_EQ(signed_rank_cut(pairs, 0.025), largest + 1) << pairs;
  // At 0.01 on both sides together.
  EXPECT_EQ(signed_rank_cut(8, 0.005), 0U + 1);
  EXPECT_EQ(signed_rank_cut(10, 0.005), 3U + 1);
  EXPECT_EQ(signed_rank_cut(20, 0.005), 37U + 1);
}

TEST(Paired, FewerThanSixPairsDecideNothing) {
  EXPECT_EQ(signed_rank_cut(5, 0.025), 0U);
  const std::vector<double> a(5, 2.0), b(5, 1.0);
  EXPECT_FALSE(paired_ratio(a, b, 0.05));
  EXPECT_FALSE(paired_ratio({}, {}, 0.05));
}

// Hollander and Wolfe, "Nonparametric Statistical Methods", example 3.1 (Hamilton depression
// scale): nine patients; Walsh averages have the median -0.46, and with 95 % lie in -0.786 to
// -0.010 (R: wilcox.test(y, x, paired = TRUE, conf.int = TRUE)).
TEST(Paired, IntervalIsThatOfHollanderAndWolfe) {
  const double x[] = {1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
  const double y[] = {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
  std::vector<double> a, b;
  for (const double value : x) a.push_back(std::exp(value));
  for (const double value : y) b.push_back(std::exp(value));
  const auto ratio = paired_ratio(a, b, 0.05);
  ASSERT_TRUE(ratio);
  EXPECT_NEAR(std::log(ratio->estimate), -0.46, 0.001);
  EXPECT_NEAR(std::log(ratio->low), -0.786, 0.001);
  EXPECT_NEAR(std::log(ratio->high), -0.010, 0.001);
}

TEST(Paired, OneSurelyFasterIsSaidToBeSo) {
  const std::vector<double> a{2, 2.1, 1.9, 2, 2.05, 1.95}, b{1, 1.1, 0.9, 1, 1.05, 0.95};
  const auto faster = paired_ratio(a, b, 0.05), slower = paired_ratio(b, a, 0.05);
  ASSERT_TRUE(faster && slower);
  EXPECT_EQ(what_to_say(faster), Said::kFaster);
  EXPECT_EQ(what_to_say(slower), Said::kSlower);
  EXPECT_NEAR(faster->low * slower->high, 1, 1e-12);
}

TEST(Paired, AFactorIsSaidOnlyWhereTheWholeIntervalLiesBeyondFivePercent) {
  EXPECT_EQ(what_to_say(PairedRatio{0.90, 0.93, 0.96}), Said::kNothing);
  EXPECT_EQ(what_to_say(PairedRatio{0.90, 0.93, 0.95}), Said::kFaster);
  EXPECT_EQ(what_to_say(PairedRatio{1.04, 1.2, 1.3}), Said::kNothing);
  EXPECT_EQ(what_to_say(PairedRatio{1.06, 1.2, 1.3}), Said::kSlower);
  EXPECT_EQ(what_to_say(std::nullopt), Said::kNothing);
}

TEST(Paired, ATimeThatIsNotAboveZeroGivesNoRatio) {
  const std::vector<double> a{1, 1, 1, 1, 1, 1}, b{1, 1, 1, 0, 1, 1};
  EXPECT_FALSE(paired_ratio(a, b, 0.05));
  EXPECT_FALSE(paired_ratio(b, a, 0.05));
}

// The rounds as `hwprof run` makes them: whether any look leaves 1 out.
bool finds_something(std::mt19937_64& random, std::size_t settings, double spread, double effect) {
  std::normal_distribution<double> noise(0, spread);
  std::bernoulli_distribution hiccup(0.05);
  const auto time = [&] { return std::exp(noise(random)) * (hiccup(random) ? 2 : 1); };
  std::vector<double> as_is;
  std::vector<std::vector<double>> changed(settings);
  while (as_is.size() < kLooks[2]) {
    as_is.push_back(time());
    for (auto& times : changed) times.push_back(time() * effect);
    if (!is_look(as_is.size())) continue;
    for (const auto& times : changed)
      if (leaves_out_one(paired_ratio(as_is, times, level_after(as_is.size(), settings))))
        return true;
  }
  return false;
}

TEST(Paired, AgainstItselfFindsNothingInNineteenOfTwenty) {
  std::mt19937_64 random(4711);
  for (const std::size_t settings : {1U, 3U}) {
    for (const double spread : {0.02, 0.1}) {
      constexpr int kPrograms = 1500;
      int found = 0;
      for (int i = 0; i < kPrograms; ++i) found += finds_something(random, settings, spread, 1);
      EXPECT_LE(found, kPrograms / 20) << settings << " settings, " << spread;
    }
  }
}

TEST(Paired, AThirdLessIsFoundInAnyOrderOfNoise) {
  std::mt19937_64 random(815);
  int found = 0;
  for (int i = 0; i < 100; ++i) found += finds_something(random, 1, 0.05, 0.66);
  EXPECT_GE(found, 99);
}

TEST(Paired, ABudgetThatEndsBeforeTheFirstLookHasTheWholeError) {
  EXPECT_DOUBLE_EQ(level_after(6, 1), 0.05);
  EXPECT_DOUBLE_EQ(level_after(9, 1), 0.05 / 3);
  EXPECT_DOUBLE_EQ(level_after(13, 2), 0.05 / 6);
  EXPECT_TRUE(is_look(9) && is_look(20) && is_look(40));
  EXPECT_FALSE(is_look(6) || is_look(10) || is_look(39));
}

}  // namespace
}  // namespace hwprof
