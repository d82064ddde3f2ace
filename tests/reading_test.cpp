#include "counters/perf/reading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace hwprof {
namespace {

using testing::ElementsAre;

TEST(Reading, DifferenceIsMemberByMember) {
  const RawReading before{100, 90, {5, 7}}, after{300, 190, {10, 107}};
  const RawReading change = difference(after, before);
  EXPECT_EQ(change.time_enabled_ns, 200u);
  EXPECT_EQ(change.time_running_ns, 100u);
  EXPECT_THAT(change.values, ElementsAre(5, 100));
}

TEST(Reading, DifferenceSurvivesTheWrapOfACounter) {
  const std::uint64_t top = std::numeric_limits<std::uint64_t>::max();
  EXPECT_THAT(difference({1, 1, {2}}, {0, 0, {top - 3}}).values, ElementsAre(6));
}

TEST(Reading, AccumulateAddsTimesAndGrowsFromNothing) {
  RawReading sum;
  accumulate({10, 5, {1, 2}}, sum);
  accumulate({20, 20, {10, 20}}, sum);
  EXPECT_EQ(sum.time_enabled_ns, 30u);
  EXPECT_EQ(sum.time_running_ns, 25u);
  EXPECT_THAT(sum.values, ElementsAre(11, 22));
}

TEST(Reading, CoverageIsAbsentWhenNeverEnabled) {
  EXPECT_EQ(coverage({0, 0, {}}), std::nullopt);
  EXPECT_EQ(coverage({100, 25, {}}), 0.25);
  EXPECT_EQ(coverage({100, 0, {}}), 0.0);
  EXPECT_EQ(coverage({100, 101, {}}), 1.0) << "the two clocks may differ by a tick";
}

TEST(Reading, ACountOfTheWholeTimeIsNotScaled) {
  const ScaledCount count = scale({100, 100, {1, 9007199254740993}}, 0);
  EXPECT_EQ(count.status, CountStatus::kOk);
  EXPECT_EQ(count.value, 1.0);
  EXPECT_EQ(count.coverage, 1.0);
}

TEST(Reading, ACountOfPartOfTheTimeIsExtrapolatedAndSaysSo) {
  const ScaledCount count = scale({300, 100, {7, 50}}, 1);
  EXPECT_EQ(count.status, CountStatus::kScaled);
  EXPECT_DOUBLE_EQ(*count.value, 150.0);
  EXPECT_DOUBLE_EQ(*count.coverage, 1.0 / 3);
}

TEST(Reading, AGroupThatNeverRanHasNoValueNotZero) {
  const ScaledCount count = scale({300, 0, {42}}, 0);
  EXPECT_EQ(count.status, CountStatus::kNotCounted);
  EXPECT_EQ(count.value, std::nullopt);
  EXPECT_EQ(scale({0, 0, {42}}, 0).value, std::nullopt);
  EXPECT_EQ(scale({1, 1, {42}}, 1).value, std::nullopt) << "no such member";
}

TEST(Reading, StatusesHaveTheNamesOfTheContract) {
  EXPECT_EQ(to_string(CountStatus::kOk), "ok");
  EXPECT_EQ(to_string(CountStatus::kScaled), "scaled");
  EXPECT_EQ(to_string(CountStatus::kNotCounted), "not-counted");
  EXPECT_EQ(to_string(CountStatus::kUnsupported), "unsupported");
  EXPECT_EQ(to_string(CountStatus::kDenied), "denied");
}

}  // namespace
}  // namespace hwprof
