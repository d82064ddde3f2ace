// Counters that do not count: the status says so, the reason says why, and none reads 0.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <string>
#include <vector>

#include "src/base/unique_fd.h"
#include "tests/hardware/guest.h"

namespace hwprof {
namespace {

using guest::count;
using guest::count_one;
using guest::expect_counted;
using guest::expect_refused;
using guest::spin;

void work() { spin(1'000'000); }

// Takes every counter of CPU 0 for itself, as another user of the PMU would.
std::vector<UniqueFd> take_all_counters() {
  constexpr int kCounters = 7;
  std::vector<UniqueFd> taken;
  for (int i = 0; i < kCounters; ++i) {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_HARDWARE;
    attr.config = i == 0 ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_HW_INSTRUCTIONS;
    attr.pinned = 1;
    taken.emplace_back(static_cast<int>(syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0)));
    EXPECT_TRUE(taken.back().valid());
  }
  return taken;
}

TEST(Trouble, AGroupThatNeverRunsHasNoValue) {
  const auto taken = take_all_counters();
  for (const EventCount& event : count({"cycles", "instructions"}, work))
    expect_refused(event, CountStatus::kNotCounted, "never ran");
}

TEST(Trouble, CountersTakenAfterOpeningLeaveNoValue) {
  const std::vector<std::string> names = {"cycles", "instructions"};
  auto counting = Counting::open(probe_machine(0), 0, names, {});
  ASSERT_TRUE(counting) << counting.error().what;
  const auto taken = take_all_counters();
  Tally tally;
  ASSERT_TRUE(counting->start(0));
  work();
  ASSERT_TRUE(counting->stop(0, tally, 1));
  for (const EventCount& event : counting->evaluate(tally))
    expect_refused(event, CountStatus::kNotCounted, "");
}

TEST(Trouble, CountersTakenHalfwayAreScaled) {
  const std::vector<std::string> names = {"instructions"};
  auto counting = Counting::open(probe_machine(0), 0, names, {});
  ASSERT_TRUE(counting) << counting.error().what;
  constexpr std::uint64_t kHalf = 20'000'000;
  Tally tally;
  ASSERT_TRUE(counting->start(0));
  spin(kHalf);
  {
    const auto taken = take_all_counters();
    spin(kHalf);
  }
  ASSERT_TRUE(counting->stop(0, tally, 1));
  const EventCount event = counting->evaluate(tally).front();
  guest::log_text(event);
  EXPECT_EQ(to_string(event.status), "scaled");
  EXPECT_NEAR(event.coverage.value_or(-1), 0.5, 0.02);
  EXPECT_NEAR(event.value.value_or(-1) / (4.0 * kHalf), 1, 0.02);
}

// Every raw code opens here, and all but 0x08 and 0x11 read 0 for ever.
TEST(Trouble, ACounterThatStaysAtZeroHasNoValue) {
  for (const char* name : {"r0003", "r0021", "r03ff"})
    expect_refused(count_one(name, work), CountStatus::kNotCounted, "stay");
}

TEST(Trouble, PortableEventsThatTheCpuLacksHaveNoValue) {
  for (const char* name : {"flops", "llc-miss", "l2-miss", "l1d-miss", "dtlb-miss", "branches",
                           "branch-misses", "ref-cycles"}) {
    const EventCount event = count_one(name, work);
    guest::log_text(event);
    EXPECT_TRUE(event.status == CountStatus::kUnsupported ||
                event.status == CountStatus::kNotCounted)
        << name << " is " << to_string(event.status);
    EXPECT_FALSE(event.value) << name;
    EXPECT_FALSE(event.reason.empty()) << name;
  }
}

// The CPU lists these among its events (sysfs), and it never stalls: 0 is the truth.
TEST(Trouble, AnEventThatTheCpuListsMayBeZero) {
  const EventCount event = count_one("armv8_pmuv3/event=0x24/", work);
  guest::log_text(event);
  EXPECT_EQ(to_string(event.status), "ok");
  EXPECT_EQ(event.value, 0);
}

TEST(Trouble, OneBadEventTakesDownNoOther) {
  const auto counted = count({"instructions", "r0003", "ref-cycles", "cycles"}, work);
  expect_counted(counted[0]);
  EXPECT_FALSE(counted[1].value);
  EXPECT_FALSE(counted[2].value);
  expect_counted(counted[3]);
}

TEST(Trouble, AnEventThatDoesNotExistIsAUsageError) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"instructoins", "instructions"}, {"nosuchpmu/event=1/", "armv8_pmuv3"}};
  for (const auto& [name, hint] : cases) {
    const auto counting =
        Counting::open(probe_machine(0), 0, std::vector<std::string>{name}, CountingOptions{});
    ASSERT_FALSE(counting) << name;
    EXPECT_EQ(counting.error().fault, Fault::kUsage);
    EXPECT_THAT(counting.error().what, testing::HasSubstr(name.substr(0, 9)));
    EXPECT_THAT(counting.error().hint, testing::HasSubstr(hint));
  }
}

// -cpu neoverse-n1,pmu=off
TEST(NoPmu, HardwareEventsAreUnsupportedAndSoftwareEventsCount) {
  EXPECT_FALSE(probe_machine(0).pmu.present());
  for (const char* name : {"cycles", "instructions", "flops", "llc-miss", "r0008", "INST_RETIRED"})
    expect_refused(count_one(name, work), CountStatus::kUnsupported, "no PMU");
  const auto counted = count({"cycles", "task-clock"}, work);
  EXPECT_FALSE(counted[0].value);
  expect_counted(counted[1]);
}

// Without -icount the PMU has cycles only; the raw code opens all the same, and reads 0.
TEST(NoInstructions, CyclesCountAndInstructionsHaveNoValue) {
  expect_counted(count_one("cycles", work));
  expect_refused(count_one("instructions", work), CountStatus::kUnsupported, "instructions");
  expect_refused(count_one("r0008", work), CountStatus::kNotCounted, "stay");
}

// -cpu cortex-a72: libpfm4 4.13 has no table for it.
TEST(UnknownToLibpfm, NativeNamesSayThatLibpfmDoesNotKnowTheCpu) {
  expect_refused(count_one("INST_RETIRED", work), CountStatus::kUnsupported,
                 "libpfm4 4.13 does not know this CPU");
}

TEST(UnknownToLibpfm, GenericNamesAndRawCodesCount) {
  for (const EventCount& event : count({"cycles", "instructions", "r0008"}, work))
    expect_counted(event);
}

}  // namespace
}  // namespace hwprof
