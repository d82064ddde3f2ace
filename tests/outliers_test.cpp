#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "src/measure/repeats.h"

namespace hwprof {
namespace {

using report::Slice;
using ::testing::IsEmpty;

// Times of 100 to 104 ns in which nothing happened.
std::vector<Slice> quiet(std::size_t count = 10) {
  std::vector<Slice> slices;
  for (std::size_t i = 0; i < count; ++i) {
    Slice& slice = slices.emplace_back();
    slice.ns = 100.0 + static_cast<double>(i % 5);
    slice.peak_gflops = 200;
    slice.migrated = false;
    slice.involuntary_switches = 1;
    slice.page_faults = 0;
  }
  return slices;
}

std::string cause(const std::vector<Slice>& slices) {
  const auto outliers = find_outliers(slices);
  return outliers.size() == 1 ? outliers.front().cause : "not one outlier";
}

TEST(Outliers, QuietTimesHaveNone) { EXPECT_THAT(find_outliers(quiet()), IsEmpty()); }

TEST(Outliers, ATimeFarAboveIsNamedByItsIndex) {
  auto slices = quiet();
  slices[3].ns = 150;
  const auto outliers = find_outliers(slices);
  ASSERT_EQ(outliers.size(), 1U);
  EXPECT_EQ(outliers[0].index, 3U);
  EXPECT_EQ(outliers[0].ns, 150);
  EXPECT_EQ(outliers[0].cause, "not known");
}

TEST(Outliers, ATimeFarBelowIsNone) {
  auto slices = quiet();
  slices[3].ns = 50;
  EXPECT_THAT(find_outliers(slices), IsEmpty());
}

// The standard deviation would hide each of these behind the other.
TEST(Outliers, SeveralDoNotHideEachOther) {
  auto slices = quiet(20);
  slices[2].ns = 1000;
  slices[9].ns = 5000;
  EXPECT_EQ(find_outliers(slices).size(), 2U);
}

TEST(Outliers, ACauseExplainsHalfOfTheExcess) {
  auto slices = quiet();
  slices[3].ns = 150;
  auto clocked = slices;
  clocked[3].peak_gflops = 150;
  EXPECT_EQ(cause(clocked), "another clock: FMA peak beside it 25.0 % lower");
  clocked[3].migrated = true;
  EXPECT_EQ(cause(clocked), "another clock: FMA peak beside it 25.0 % lower");
  // A clock that is a fifteenth slower does not make a call last half as long again.
  clocked = slices;
  clocked[3].peak_gflops = 186.6;
  EXPECT_EQ(
      cause(clocked),
      "not known; beside it: another clock: FMA peak beside it 6.7 % lower, which explains 15 "
      "% of it");
}

// What an event costs is not known from one slice: others with as many must have lost as much.
TEST(Outliers, AnEventIsACauseWhereOthersWithAsManyLostAsMuch) {
  auto slices = quiet(20);
  slices[3].ns = 150;
  slices[3].involuntary_switches = 4;
  EXPECT_EQ(cause(slices), "not known; beside it: 4 involuntary context switches (usually 1)");
  auto repeated = slices;
  repeated[9].ns = 148;
  repeated[9].involuntary_switches = 5;
  const auto outliers = find_outliers(repeated);
  ASSERT_EQ(outliers.size(), 2U);
  EXPECT_EQ(outliers[0].cause, "4 involuntary context switches (usually 1)");
  auto harmless = slices;
  harmless[9].involuntary_switches = 5;
  EXPECT_EQ(cause(harmless),
            "not known; beside it: 4 involuntary context switches (usually 1), which explains 4 % "
            "of it");
  auto moved = slices;
  moved[3].involuntary_switches = 1;
  moved[3].migrated = true;
  EXPECT_EQ(cause(moved), "not known; beside it: moved to another CPU");
}

TEST(Outliers, WhereNobodyLookedTheCauseIsNotKnown) {
  std::vector<Slice> slices;
  for (const Slice& slice : quiet()) slices.emplace_back().ns = slice.ns;
  slices[3].ns = 150;
  EXPECT_EQ(cause(slices), "not known");
}

// With three deviations, as before, it was 15 % of rows of 5 to 20 samples, and 35 % of 100.
TEST(Outliers, OfMereNoiseTwoPercentOfRowsHaveOne) {
  std::mt19937_64 random(5);
  std::lognormal_distribution<double> noise(0, 0.08);
  constexpr int kRows = 1000;
  for (const std::size_t samples : {5U, 6U, 7U, 8U, 10U, 15U, 20U, 30U, 100U, 300U}) {
    int flagged = 0;
    for (int i = 0; i < kRows; ++i) {
      std::vector<Slice> slices(samples);
      for (Slice& slice : slices) slice.ns = noise(random);
      flagged += !find_outliers(slices).empty();
    }
    EXPECT_LE(flagged, kRows * 3 / 100) << samples << " samples";
  }
}

TEST(Outliers, FewTimesHaveNone) {
  auto slices = quiet(kMinSamplesForOutliers - 1);
  slices[0].ns = 1e9;
  EXPECT_THAT(find_outliers(slices), IsEmpty());
}

}  // namespace
}  // namespace hwprof
