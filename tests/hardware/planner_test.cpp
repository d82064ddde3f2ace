// How events are spread over passes, on a PMU of one cycle and six general counters. Only
// instructions and cycles count in this VM, but the kernel's driver looks at the low 16 bits of a
// raw code: r10008, r20008, ... are different events to hwprof, and each counts instructions.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/hardware/guest.h"

namespace hwprof {
namespace {

using guest::count;
using guest::spin;

constexpr std::uint64_t kRounds = 50'000'000;

std::vector<std::string> cycles_and(int counters) {
  std::vector<std::string> names = {"cycles"};
  for (int i = 1; i <= counters; ++i) names.push_back(fmt::format("r{}0008", i));
  return names;
}

std::size_t passes_of(const std::vector<std::string>& names, CountingOptions options = {}) {
  const auto counting = Counting::open(probe_machine(0), 0, names, options);
  return counting ? counting->passes() : 0;
}

TEST(Planner, FindsSixCounters) {
  const Machine machine = probe_machine(0);
  ASSERT_TRUE(machine.pmu.present());
  EXPECT_EQ(machine.pmu.counters, 6U) << machine.pmu.reason;
}

TEST(Planner, OneCycleAndSixCountersFitOnePass) {
  EXPECT_EQ(passes_of(cycles_and(6)), 1U);
  const auto counted = count(cycles_and(6), [] { spin(1'000); });
  for (const EventCount& event : counted) guest::expect_counted(event);
  for (std::size_t i = 2; i < counted.size(); ++i)
    EXPECT_EQ(counted[i].value, counted[1].value) << counted[i].name;
}

TEST(Planner, NineEventsMakeTwoPassesAndNothingIsScaled) {
  EXPECT_EQ(passes_of(cycles_and(8)), 2U);
  const auto counted = count(cycles_and(8), [] { spin(kRounds); });
  for (const EventCount& event : counted) {
    guest::expect_counted(event);
    const double instructions = event.value.value_or(-1) / (event.name == "cycles" ? 2 : 1);
    EXPECT_GT(instructions, 2 * kRounds) << event.name;
    EXPECT_LT(instructions, 2 * kRounds + guest::kMostAround) << event.name;
  }
}

TEST(Planner, OnePassForNineEventsIsScaledAndSaysSo) {
  const CountingOptions one_pass{.max_passes = 1};
  EXPECT_EQ(passes_of(cycles_and(8), one_pass), 1U);
  constexpr double kTruth = 2 * kRounds;
  const auto counted = count(
      cycles_and(8), [] { spin(kRounds); }, one_pass);
  double coverage = 0;
  for (const EventCount& event : counted) {
    guest::log_text(event);
    EXPECT_EQ(to_string(event.status), "scaled") << event.name;
    EXPECT_GT(event.coverage.value_or(-1), 0) << event.name;
    EXPECT_LT(event.coverage.value_or(2), 0.9) << event.name;
    coverage += event.coverage.value_or(0);
    const double expected = event.name == "cycles" ? 2 * kTruth : kTruth;
    EXPECT_NEAR(event.value.value_or(-1) / expected, 1, 0.01) << event.name;
  }
  // Two groups take turns: seven events of one, two of the other.
  EXPECT_GT(coverage, 1);
}

}  // namespace
}  // namespace hwprof
