// The arithmetic of a report, on trees made by hand.
#include "counters/regions/region_report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace hwprof {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kWeight = 4;

// One event of one native event, which counts four each.
RegionSetup setup_of(RegionCost cost) {
  RegionSetup setup;
  SelectedEvent event;
  event.resolved.name = event.resolved.shown_as = "flops";
  event.terms = {{0, kWeight}};
  setup.selection.events = {event};
  setup.selection.natives = setup.natives = {NativeEvent{}};
  setup.selection.passes = {PassPlan{{{0}}}};
  setup.cost = std::move(cost);
  return setup;
}

struct Numbers {
  std::uint64_t calls, total_ns, self_ns, total, self;
};

RegionNode* add_node(RegionTree& tree, RegionNode* parent, const char* name, Numbers numbers) {
  RegionNode* node = tree.child(parent, name);
  node->entered = node->calls = node->counted_calls = numbers.calls;
  node->ns.total = node->enabled_ns = node->running_ns = numbers.total_ns;
  node->ns.self = numbers.self_ns;
  node->events[0].total = numbers.total;
  node->events[0].self = numbers.self;
  return node;
}

RegionTotals totals_of(const RegionTree& tree) {
  RegionTotals totals;
  totals.sums.merge(tree);
  return totals;
}

TEST(RegionReport, WhatTheEdgesCostIsTakenFromWhereItFell) {
  RegionTree tree(1);
  RegionNode* outer = add_node(tree, tree.root(), "outer", {10, 10000, 4000, 1000, 400});
  add_node(tree, outer, "inner", {20, 6000, 6000, 600, 600});
  const RegionReport report = make_region_report(setup_of({10, 30, {2}, {3}}), totals_of(tree));
  ASSERT_EQ(report.rows.size(), 2u);
  const RegionRow& around = report.rows[0];
  const RegionRow& inside = report.rows[1];
  EXPECT_EQ(inside.self_ns.value(), 6000 - 20 * 10);
  EXPECT_EQ(inside.total_ns.value(), inside.self_ns.value());
  EXPECT_EQ(around.self_ns.value(), 4000 - 10 * 10 - 20 * 30);
  EXPECT_EQ(around.total_ns.value(), around.self_ns.value() + inside.total_ns.value());
  EXPECT_EQ(around.raw_total_ns, 10000);
  EXPECT_EQ(inside.counts[0].self.value(), kWeight * (600 - 20 * 2));
  EXPECT_EQ(around.counts[0].self.value(), kWeight * (400 - 10 * 2 - 20 * 3));
  EXPECT_EQ(around.counts[0].total.value(),
            around.counts[0].self.value() + inside.counts[0].total.value());
  EXPECT_EQ(around.raw[0].total, kWeight * 1000);
}

TEST(RegionReport, ACorrectionNeverGoesBelowZero) {
  RegionTree tree(1);
  RegionNode* outer = add_node(tree, tree.root(), "outer", {1, 1000, 900, 10, 5});
  add_node(tree, outer, "inner", {1, 100, 100, 5, 5});
  const RegionReport report =
      make_region_report(setup_of({1e6, 1e6, {1e6}, {1e6}}), totals_of(tree));
  for (const RegionRow& row : report.rows) {
    EXPECT_EQ(row.total_ns.value(), 0);
    EXPECT_EQ(row.self_ns.value(), 0);
    EXPECT_EQ(row.counts[0].total.value(), 0);
  }
  EXPECT_EQ(report.rows[0].raw_total_ns, 1000);
  EXPECT_FALSE(report.rows[0].gflops.has_value());
}

TEST(RegionReport, NestedCallsCostTheirOwnRegion) {
  RegionTree tree(1);
  add_node(tree, tree.root(), "recursive", {5, 1000, 1000, 50, 50})->nested = 4;
  const RegionReport report = make_region_report(setup_of({10, 30, {0}, {0}}), totals_of(tree));
  EXPECT_EQ(report.rows[0].self_ns.value(), 1000 - 5 * 10 - 4 * 30);
}

TEST(RegionReport, SharedCountersAreScaledAndSaySo) {
  RegionTree tree(1);
  add_node(tree, tree.root(), "work", {1, 1000, 1000, 50, 50})->running_ns = 250;
  const RegionReport report = make_region_report(setup_of({0, 0, {0}, {0}}), totals_of(tree));
  EXPECT_EQ(report.rows[0].counts[0].status, CountStatus::kScaled);
  EXPECT_EQ(report.rows[0].raw[0].coverage, 0.25);
  EXPECT_EQ(report.rows[0].raw[0].total, kWeight * 50 * 4);
  EXPECT_THAT(regions_as_text(report), HasSubstr("800~"));
}

TEST(RegionReport, CountersThatNeverRanGiveNoZero) {
  RegionTree tree(1);
  add_node(tree, tree.root(), "work", {1, 1000, 1000, 0, 0})->running_ns = 0;
  const RegionReport report = make_region_report(setup_of({0, 0, {0}, {0}}), totals_of(tree));
  EXPECT_EQ(report.rows[0].counts[0].status, CountStatus::kNotCounted);
  EXPECT_FALSE(report.rows[0].counts[0].total.has_value());
  EXPECT_THAT(report.rows[0].counts[0].reason, HasSubstr("never ran"));
}

TEST(RegionReport, ThreadsAreMergedInTheOrderOfTheirPaths) {
  RegionTree first(1), second(1);
  add_node(first, first.root(), "a", {1, 10, 10, 1, 1});
  RegionNode* b = add_node(second, second.root(), "b", {2, 20, 10, 2, 1});
  add_node(second, b, "a", {2, 10, 10, 1, 1});
  add_node(second, second.root(), "a", {4, 40, 40, 4, 4});
  RegionSums all;
  all.merge(second);
  all.merge(first);
  RegionTotals totals;
  totals.sums = all;
  const RegionReport report = make_region_report(setup_of({0, 0, {0}, {0}}), std::move(totals));
  ASSERT_EQ(report.rows.size(), 3u);
  EXPECT_EQ(report.rows[0].name, "b");
  EXPECT_EQ(report.rows[1].depth, 1u);
  EXPECT_EQ(report.rows[2].calls, 5u);
  EXPECT_EQ(report.rows[2].threads, 2u);
  EXPECT_EQ(report.rows[2].raw_total_ns, 50);
}

TEST(RegionReport, NamesBeyondAllMeasureAreCounted) {
  constexpr int kThreads = 4, kNames = 40'000;
  RegionSums all;
  std::uint64_t left_out = 0;
  std::size_t refused = 0;
  for (int thread = 0; thread < kThreads; ++thread) {
    RegionTree tree(0);
    for (int i = 0; i < kNames; ++i) {
      RegionNode* node = tree.child(tree.root(), fmt::format("{} {}", thread, i).c_str());
      if (node == nullptr) ++refused;
      if (node != nullptr) node->entered.add(1);
    }
    left_out += all.merge(tree);
  }
  EXPECT_EQ(refused, 0u) << "the trees of ended threads take no room";
  EXPECT_EQ(all.nodes().size() + left_out, kThreads * kNames + 1u);
  EXPECT_LE(all.nodes().size(), 65536u);
}

TEST(RegionTree, ThreadsShareTheRoomForNames) {
  constexpr int kThreads = 4, kNames = 60'000;
  std::vector<std::unique_ptr<RegionTree>> trees;
  std::size_t made = 0;
  for (int thread = 0; thread < kThreads; ++thread) {
    RegionTree& tree = *trees.emplace_back(std::make_unique<RegionTree>(0));
    for (int i = 0; i < kNames; ++i)
      made += tree.child(tree.root(), std::to_string(i).c_str()) != nullptr ? 1 : 0;
  }
  EXPECT_GT(made, 2u * kNames);
  EXPECT_LE(made, 131072u);
}

TEST(RegionReport, NamesReachNoTerminalAsTheyAre) {
  RegionTree tree(0);
  add_node(tree, tree.root(),
           "a\x1b[2Jb\xc2\x9b"
           "2Jc\xff"
           "d\xe2\x80\xae"
           "e\xc3\xa9",
           {1, 10, 10, 0, 0});
  EXPECT_THAT(regions_as_text(make_region_report({}, totals_of(tree))),
              HasSubstr("a?[2Jb?2Jc?d?e\xc3\xa9"));
}

// A writer that never rests: a sum is of one moment all the same.
TEST(RegionReport, ASumOfABusyThreadIsOfOneMoment) {
  constexpr std::size_t kEvents = 16;
  RegionTree tree(kEvents);
  RegionNode* node = tree.child(tree.root(), "busy");
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop) {
      const std::uint64_t before = tree.begin_change();
      node->calls.add(1);
      for (std::size_t i = 0; i < kEvents; ++i) node->events[i].self.add(1);
      tree.end_change(before);
    }
  });
  int torn = 0;
  for (int round = 0; round < 20000; ++round) {
    RegionSums sums;
    sums.merge(tree);
    const RegionSum& busy = sums.nodes()[1];
    for (const std::uint64_t self : busy.selves) torn += self == busy.calls ? 0 : 1;
  }
  stop = true;
  writer.join();
  EXPECT_EQ(torn, 0);
}

TEST(RegionReport, NoRegionIsSaidInWords) {
  EXPECT_EQ(regions_as_text(make_region_report({}, {})), "No region was entered.\n");
  EXPECT_THAT(regions_as_json(make_region_report({}, {})), HasSubstr("\"regions\": []"));
}

}  // namespace
}  // namespace hwprof
