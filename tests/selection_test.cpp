// From raw sums to numbers, on selections made up here: no system call.
#include "counters/perf/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hwprof {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

SelectedEvent event(std::string name, std::vector<SelectedTerm> terms) {
  SelectedEvent selected;
  selected.resolved.name = selected.resolved.shown_as = std::move(name);
  selected.terms = std::move(terms);
  return selected;
}

Tally tally_of(std::vector<Tally::Pass> passes) {
  Tally tally;
  tally.passes = std::move(passes);
  return tally;
}

// flops = 1 x native 0 + 8 x native 1 in pass 0; cycles = native 2 in pass 1.
Selection example() {
  Selection selection;
  selection.natives.resize(3);
  selection.events = {event("flops", {{0, 1}, {1, 8}}), event("cycles", {{2, 1}})};
  selection.passes.resize(2);
  selection.passes[0].groups = {{0, 1}};
  selection.passes[1].groups = {{2}};
  return selection;
}

TEST(Selection, TermsAreWeightedAndDividedByTheCallsOfTheirPass) {
  const auto counts =
      evaluate_tally(example(), tally_of({{{{100, 100, {10, 20}}}, 5}, {{{100, 100, {600}}}, 3}}));
  ASSERT_THAT(counts, SizeIs(2));
  EXPECT_EQ(counts[0].status, CountStatus::kOk);
  EXPECT_DOUBLE_EQ(*counts[0].value, (10 + 8 * 20) / 5.0);
  EXPECT_DOUBLE_EQ(*counts[0].total, 170);
  EXPECT_EQ(counts[0].calls, 5);
  EXPECT_DOUBLE_EQ(*counts[1].value, 200);
  EXPECT_EQ(counts[1].coverage, 1.0);
}

TEST(Selection, TermsOfTwoPassesAreEachDividedByTheirOwnCalls) {
  Selection selection = example();
  selection.passes[0].groups = {{0}};
  selection.passes[1].groups = {{2, 1}};
  const auto counts =
      evaluate_tally(selection, tally_of({{{{9, 9, {40}}}, 4}, {{{9, 9, {7, 20}}}, 10}}));
  EXPECT_DOUBLE_EQ(*counts[0].value, 40 / 4.0 + 8 * 20 / 10.0);
  EXPECT_EQ(counts[0].calls, 4);
}

TEST(Selection, AScaledTermMakesTheNumberScaled) {
  const auto counts =
      evaluate_tally(example(), tally_of({{{{100, 25, {10, 20}}}, 1}, {{{100, 100, {6}}}, 1}}));
  EXPECT_EQ(counts[0].status, CountStatus::kScaled);
  EXPECT_DOUBLE_EQ(*counts[0].coverage, 0.25);
  EXPECT_DOUBLE_EQ(*counts[0].value, 4 * 170);
  EXPECT_EQ(counts[1].status, CountStatus::kOk);
}

TEST(Selection, AGroupThatNeverRanHasAReasonAndNoValue) {
  const auto counts =
      evaluate_tally(example(), tally_of({{{{100, 0, {10, 20}}}, 1}, {{{100, 100, {6}}}, 1}}));
  EXPECT_EQ(counts[0].status, CountStatus::kNotCounted);
  EXPECT_EQ(counts[0].value, std::nullopt);
  EXPECT_FALSE(counts[0].reason.empty());
}

TEST(Selection, ZeroOfAnEventThatTheCpuDoesNotNameIsNoValue) {
  Selection selection = example();
  const auto zero = tally_of({{{{100, 100, {0, 0}}}, 5}, {{{100, 100, {0}}}, 3}});
  EXPECT_EQ(evaluate_tally(selection, zero)[1].value, 0.0);
  selection.events[1].unlisted = true;
  const EventCount count = evaluate_tally(selection, zero)[1];
  EXPECT_EQ(count.status, CountStatus::kNotCounted);
  EXPECT_FALSE(count.value);
  EXPECT_FALSE(count.total);
  EXPECT_THAT(count.reason, HasSubstr("stays at 0"));
  const auto some = tally_of({{{{100, 100, {0, 0}}}, 5}, {{{100, 100, {1}}}, 3}});
  EXPECT_EQ(evaluate_tally(selection, some)[1].status, CountStatus::kOk);
}

TEST(Selection, APassThatWasNotRunHasNoValueNotZero) {
  for (const Tally& tally : {Tally{}, tally_of({{{{1, 1, {1, 1}}}, 1}})}) {
    const auto counts = evaluate_tally(example(), tally);
    EXPECT_EQ(counts[1].status, CountStatus::kNotCounted);
    EXPECT_EQ(counts[1].value, std::nullopt);
    EXPECT_THAT(counts[1].reason, HasSubstr("nothing was run"));
  }
}

TEST(Selection, ZeroCallsGiveNoValue) {
  const auto counts = evaluate_tally(example(), tally_of({{{{1, 1, {1, 1}}}, 0}, {}}));
  EXPECT_EQ(counts[0].value, std::nullopt);
}

TEST(Selection, ARefusedEventKeepsItsStatusReasonAndRemedy) {
  Selection selection = example();
  selection.events[0].terms.clear();
  selection.events[0].refusal = {CountStatus::kDenied, "not allowed", "become root"};
  const auto counts = evaluate_tally(selection, {});
  EXPECT_EQ(counts[0].status, CountStatus::kDenied);
  EXPECT_EQ(counts[0].reason, "not allowed; become root");
}

TEST(Selection, UserOnlyCountsSaySo) {
  Selection selection = example();
  selection.user_only = true;
  selection.events[1].resolved.caveat = "follows the clock";
  const auto counts =
      evaluate_tally(selection, tally_of({{{{1, 1, {1, 1}}}, 1}, {{{1, 1, {1}}}, 1}}));
  EXPECT_THAT(counts[1].reason, HasSubstr("follows the clock; user mode only"));
}

TEST(Selection, AZeroOfACounterThatNeverRoseCarriesADoubt) {
  Selection selection = example();
  selection.events[1].zero_note = "this PMU may not count it";
  const auto zero =
      evaluate_tally(selection, tally_of({{{{1, 1, {1, 1}}}, 1}, {{{1, 1, {0}}}, 1}}));
  EXPECT_EQ(zero[1].value, 0.0);
  EXPECT_THAT(zero[1].reason, HasSubstr("may not count it"));
  const auto some =
      evaluate_tally(selection, tally_of({{{{1, 1, {1, 1}}}, 1}, {{{1, 1, {5}}}, 1}}));
  EXPECT_EQ(some[1].reason, "");
}

TEST(Selection, DroppingAPassRefusesTheEventsThatNeedIt) {
  Selection selection = example();
  selection.drop_last_pass({CountStatus::kDenied, "no descriptors", ""});
  EXPECT_THAT(selection.passes, SizeIs(1));
  EXPECT_FALSE(selection.events[0].terms.empty());
  EXPECT_TRUE(selection.events[1].terms.empty());
  EXPECT_EQ(selection.events[1].refusal.reason, "no descriptors");
  EXPECT_EQ(selection.counters_per_thread(), 2u);
}

}  // namespace
}  // namespace hwprof
