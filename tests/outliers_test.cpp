#include "src/measure/outliers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hwprof {
namespace {

using report::Slice;
using ::testing::HasSubstr;
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
  EXPECT_EQ(outliers[0].cause, "unknown");
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

TEST(Outliers, TheCauseIsWhatIsUnusual) {
  auto slices = quiet();
  slices[3].ns = 150;
  auto moved = slices, switched = slices, faulted = slices, clocked = slices;
  moved[3].migrated = true;
  EXPECT_EQ(cause(moved), "moved to another CPU");
  switched[3].involuntary_switches = 4;
  EXPECT_EQ(cause(switched), "4 involuntary context switches (usually 1)");
  faulted[3].page_faults = 12;
  EXPECT_EQ(cause(faulted), "12 page faults (usually 0)");
  clocked[3].peak_gflops = 150;
  EXPECT_EQ(cause(clocked), "another clock: FMA peak beside it 25.0 % lower");
  clocked[3].migrated = true;
  EXPECT_THAT(cause(clocked), HasSubstr("moved to another CPU, another clock"));
}

TEST(Outliers, WhereNobodyLookedTheCauseIsUnknown) {
  std::vector<Slice> slices;
  for (const Slice& slice : quiet()) slices.emplace_back().ns = slice.ns;
  slices[3].ns = 150;
  EXPECT_EQ(cause(slices), "unknown");
}

TEST(Outliers, FewTimesHaveNone) {
  auto slices = quiet(kMinSamplesForOutliers - 1);
  slices[0].ns = 1e9;
  EXPECT_THAT(find_outliers(slices), IsEmpty());
}

}  // namespace
}  // namespace hwprof
