#include <gtest/gtest.h>

#include "src/measure/statistics.h"

namespace hwprof {
namespace {

using Sample = std::vector<double>;

TEST(RankTest, ThreeBelowThreeHaveOneChanceInTen) {
  EXPECT_DOUBLE_EQ(mann_whitney_p(Sample{1, 2, 3}, Sample{4, 5, 6}), 0.1);
  EXPECT_DOUBLE_EQ(mann_whitney_p(Sample{4, 5, 6}, Sample{1, 2, 3}), 0.1) << "both sides count";
}

// U = 2 of five and five: 4 of 252 choices on either side, as in the published tables.
TEST(RankTest, FiveAndFiveAsInTheTables) {
  EXPECT_NEAR(mann_whitney_p(Sample{1, 2, 3, 4, 7}, Sample{5, 6, 8, 9, 10}), 8.0 / 252, 1e-12);
}

// Hollander and Wolfe 1973, permeability of membranes; R's wilcox.test gives 0.1272 for one side.
TEST(RankTest, PermeabilityOfMembranes) {
  const Sample at_term{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
  const Sample earlier{1.15, 0.88, 0.90, 0.74, 1.21};
  EXPECT_NEAR(mann_whitney_p(at_term, earlier), 0.2544, 5e-5);
}

// Ranks 1, 2.5, 2.5, 4: four of the six choices of two are as far from the mean as 1 and 2.5.
TEST(RankTest, TiesAreCountedExactlyInSmallSamples) {
  EXPECT_NEAR(mann_whitney_p(Sample{1, 2}, Sample{2, 3}), 4.0 / 6, 1e-12);
}

// Ozone in New York, May and August 1973, with ties: R's documentation of wilcox.test has
// p = 0.0001208 by the normal approximation.
TEST(RankTest, OzoneInMayAndAugust) {
  const Sample may{41, 36, 12, 18, 28, 23, 19, 8, 7,  16, 11, 14,  18,
                   14, 34, 6,  30, 11, 1,  11, 4, 32, 23, 45, 115, 37};
  const Sample august{39, 9,  16, 78, 35, 66, 122, 89,  110, 44, 28,  65, 22,
                      59, 23, 31, 44, 21, 9,  45,  168, 73,  76, 118, 84, 85};
  EXPECT_NEAR(mann_whitney_p(may, august), 0.0001208, 5e-8);
}

TEST(RankTest, EqualValuesSayNothing) {
  EXPECT_EQ(mann_whitney_p(Sample(5, 1.0), Sample(5, 1.0)), 1);
  EXPECT_EQ(mann_whitney_p(Sample(50, 1.0), Sample(50, 1.0)), 1) << "the normal approximation";
}

TEST(RankTest, LeastPIsThatOfSeparateSamples) {
  EXPECT_DOUBLE_EQ(least_mann_whitney_p(3, 3), mann_whitney_p(Sample{1, 2, 3}, Sample{4, 5, 6}));
  EXPECT_NEAR(least_mann_whitney_p(6, 6), 2.0 / 924, 1e-12);
  EXPECT_EQ(least_mann_whitney_p(1, 1), 1);
}

// Holm's own rule: the least p times the number of tests, the next times one fewer, never falling.
TEST(RankTest, HolmCorrectsForTheNumberOfTests) {
  const auto corrected = holm({0.04, 0.01, std::nullopt, 0.03});
  ASSERT_EQ(corrected.size(), 4U);
  EXPECT_DOUBLE_EQ(*corrected[1], 0.03);
  EXPECT_DOUBLE_EQ(*corrected[3], 0.06);
  EXPECT_DOUBLE_EQ(*corrected[0], 0.06) << "not below that of a smaller p";
  EXPECT_FALSE(corrected[2]);
  EXPECT_EQ(*holm({0.6, 0.7})[0], 1);
}

}  // namespace
}  // namespace hwprof
