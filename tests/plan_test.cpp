#include "counters/perf/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace hwprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Members = std::vector<std::size_t>;

std::function<bool(std::span<const std::size_t>)> at_most(std::size_t counters) {
  return [counters](std::span<const std::size_t> group) { return group.size() <= counters; };
}

std::vector<PlanRequest> single(std::size_t count) {
  std::vector<PlanRequest> requests(count);
  for (std::size_t i = 0; i < count; ++i) requests[i].members = {i};
  return requests;
}

TEST(Plan, WhatFitsIsOnePass) {
  const Plan plan = make_plan(single(4), at_most(4), 0);
  ASSERT_THAT(plan.passes, SizeIs(1));
  EXPECT_THAT(plan.passes[0].groups, ElementsAre(Members{0, 1, 2, 3}));
}

TEST(Plan, NineEventsOnSevenCountersAreTwoPassesOfOneGroup) {
  const Plan plan = make_plan(single(9), at_most(7), 0);
  ASSERT_THAT(plan.passes, SizeIs(2));
  EXPECT_THAT(plan.passes[0].groups, ElementsAre(SizeIs(7)));
  EXPECT_THAT(plan.passes[1].groups, ElementsAre(SizeIs(2)));
}

TEST(Plan, OnePassForcesMultiplexingOfWholeGroups) {
  const Plan plan = make_plan(single(9), at_most(4), 1);
  ASSERT_THAT(plan.passes, SizeIs(1));
  EXPECT_THAT(plan.passes[0].groups, ElementsAre(SizeIs(4), SizeIs(4), SizeIs(1)));
}

TEST(Plan, ALimitThatIsNotReachedChangesNothing) {
  EXPECT_THAT(make_plan(single(3), at_most(2), 5).passes, SizeIs(2));
}

TEST(Plan, TermsOfOneNumberStayTogether) {
  std::vector<PlanRequest> requests = single(2);
  requests.push_back({{2, 3, 4}, false, false});
  const Plan plan = make_plan(requests, at_most(4), 0);
  ASSERT_THAT(plan.passes, SizeIs(2));
  EXPECT_THAT(plan.passes[1].groups[0], ElementsAre(2, 3, 4));
}

TEST(Plan, TermsThatFitNowhereTogetherAreSpread) {
  std::vector<PlanRequest> requests(1);
  requests[0].members = {0, 1, 2, 3, 4};
  const Plan plan = make_plan(requests, at_most(2), 0);
  EXPECT_THAT(plan.passes, SizeIs(3));
  EXPECT_THAT(plan.left_out, IsEmpty());
}

TEST(Plan, CyclesAndInstructionsStandTogetherWhereverTheyWereAsked) {
  std::vector<PlanRequest> requests = single(6);
  requests[0].first = requests[5].first = true;
  const Plan plan = make_plan(requests, at_most(3), 0);
  EXPECT_THAT(plan.passes[0].groups[0], ElementsAre(0, 5, 1));
}

TEST(Plan, SoftwareRidesAlongInAGroupOfItsOwn) {
  std::vector<PlanRequest> requests = single(4);
  requests[1].software = requests[3].software = true;
  const Plan plan = make_plan(requests, at_most(2), 0);
  ASSERT_THAT(plan.passes, SizeIs(1));
  EXPECT_THAT(plan.passes[0].groups, ElementsAre(Members{0, 2}, Members{1, 3}));
}

TEST(Plan, SoftwareAloneIsAPass) {
  std::vector<PlanRequest> requests = single(1);
  requests[0].software = true;
  const Plan plan = make_plan(requests, at_most(9), 0);
  ASSERT_THAT(plan.passes, SizeIs(1));
  EXPECT_THAT(plan.passes[0].groups, ElementsAre(Members{0}));
}

TEST(Plan, ASharedEventIsCountedOnce) {
  std::vector<PlanRequest> requests(2);
  requests[0].members = {0, 1, 2};
  requests[1].members = {1, 2};
  const Plan plan = make_plan(requests, at_most(8), 0);
  EXPECT_THAT(plan.passes[0].groups, ElementsAre(Members{0, 1, 2}));
}

TEST(Plan, WhatFitsNowhereIsLeftOut) {
  const auto all_but_one = [](std::span<const std::size_t> group) {
    return std::find(group.begin(), group.end(), 1u) == group.end();
  };
  const Plan plan = make_plan(single(3), all_but_one, 0);
  EXPECT_THAT(plan.left_out, ElementsAre(1));
  EXPECT_THAT(plan.passes[0].groups, ElementsAre(Members{0, 2}));
}

TEST(Plan, NothingAskedIsNoPass) { EXPECT_THAT(make_plan({}, at_most(4), 0).passes, IsEmpty()); }

}  // namespace
}  // namespace hwprof
