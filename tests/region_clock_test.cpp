// What regions take their times from: when the processor's counter is trusted, what its ticks are
// in nanoseconds, and what happens when it and CLOCK_MONOTONIC do not agree. That clock is made
// here.
#include "counters/regions/region_clock.h"

#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <atomic>
#include <thread>

#include "counters/regions/region_sum.h"
#include "counters/regions/region_tree.h"
#include "tests/region_harness.h"

namespace {

std::atomic<std::int64_t> clock_ahead_ns = 0;
std::atomic<bool> clock_stands = false;

}  // namespace

// In the place of the C library's: by a system call, which no vDSO answers.
extern "C" int clock_gettime(clockid_t id, timespec* time) noexcept {
  const long done = syscall(SYS_clock_gettime, id, time);
  if (done != 0 || id != CLOCK_MONOTONIC) return static_cast<int>(done);
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t ns =
      clock_stands ? kSecond : time->tv_sec * kSecond + time->tv_nsec + clock_ahead_ns;
  *time = {.tv_sec = ns / kSecond, .tv_nsec = ns % kSecond};
  return 0;
}

namespace hwprof {
namespace {

using testing::HasSubstr;

CounterFacts good_facts() {
  return {.readable = true, .one_rate = true, .clocksource = "tsc", .unwanted = false};
}

TEST(RegionClock, TheCounterIsTakenWhereTheKernelTakesItToo) {
  CounterFacts facts = good_facts();
  for (const char* source : {"tsc", "kvm-clock", "arch_sys_counter"}) {
    facts.clocksource = source;
    EXPECT_EQ(why_no_counter(facts), "") << source;
  }
  for (const char* source : {"hpet", "acpi_pm", "jiffies", "xen", "tsc-early"}) {
    facts.clocksource = source;
    EXPECT_THAT(why_no_counter(facts), HasSubstr(source));
  }
  facts.clocksource = "";
  EXPECT_THAT(why_no_counter(facts), HasSubstr("current_clocksource cannot be read"));
}

TEST(RegionClock, TheCounterIsNotTakenWithoutOneRateOrLeave) {
  CounterFacts facts = good_facts();
  facts.one_rate = false;
  EXPECT_THAT(why_no_counter(facts), HasSubstr("one rate"));
  facts = good_facts();
  facts.readable = false;
  EXPECT_THAT(why_no_counter(facts), HasSubstr("may not read"));
  facts = good_facts();
  facts.unwanted = true;
  EXPECT_EQ(why_no_counter(facts), "HWPROF_CLOCK=kernel");
  EXPECT_TRUE(counter_facts("kernel").unwanted);
  EXPECT_FALSE(counter_facts("").unwanted);
}

// Of a counter of `ghz`, after `seconds`.
ClockReading reading_at(double seconds, double ghz = 2.5) {
  return {.ticks = 1'000'000 + static_cast<std::uint64_t>(seconds * 1e9 * ghz),
          .ns = 70'000'000'000'000 + static_cast<std::uint64_t>(seconds * 1e9),
          .within_ns = 30};
}

TickLine line_of(std::initializer_list<ClockReading> readings) {
  TickLine line;
  for (const ClockReading& reading : readings) line.add(reading);
  return line;
}

TEST(TickLine, TicksBecomeNanosecondsByTheFirstAndTheLastReading) {
  EXPECT_EQ(TickLine().as_ns(1000), 0u);
  EXPECT_EQ(line_of({reading_at(0)}).as_ns(1000), 0u);
  const TickLine line = line_of({reading_at(0), reading_at(1e-4), reading_at(40)});
  EXPECT_EQ(line.problem(), "");
  EXPECT_EQ(line.as_ns(100'000'000'000), 40'000'000'000u);
  EXPECT_EQ(line.as_ns(5), 2u);
  EXPECT_LE(line.as_ns(9) + line.as_ns(9), line.as_ns(18));
  EXPECT_EQ(line.as_ns(5ULL << 60U), 2ULL << 60U) << "without overflow";
  EXPECT_DOUBLE_EQ(line.ns_per_tick(), 0.4);
  const TickLine slow = line_of({reading_at(0, 0.0625), reading_at(1, 0.0625)});
  EXPECT_EQ(slow.as_ns(3), 48u);
}

// The error of a sum is that of two readings, however long it ran.
TEST(TickLine, ARateThatTheStartGotWrongIsPutRightByTheLastReading) {
  ClockReading early = reading_at(1e-4);
  early.ns += 30;  // 300 ppm
  const TickLine line = line_of({reading_at(0), early, reading_at(10)});
  EXPECT_EQ(line.problem(), "");
  EXPECT_EQ(line.as_ns(25'000'000'000), 10'000'000'000u);
}

TEST(TickLine, WhatNtpDoesIsNoDisagreement) {
  ClockReading slewed = reading_at(100);
  slewed.ns += 50'000'000;  // 500 ppm
  EXPECT_EQ(line_of({reading_at(0), reading_at(1e-4), slewed}).problem(), "");
}

TEST(TickLine, ACounterThatJumpedIsFoundAndItsReadingLeftOut) {
  for (const double jump_s : {0.01, 3.0, 4000.0}) {
    ClockReading after = reading_at(2);  // a machine that slept: CLOCK_MONOTONIC stood
    after.ticks += static_cast<std::uint64_t>(jump_s * 2.5e9);
    const TickLine line = line_of({reading_at(0), reading_at(1), after, reading_at(3)});
    EXPECT_THAT(line.problem(), HasSubstr("while the clock ran 1.000000 s")) << jump_s;
    EXPECT_EQ(line.as_ns(2'500'000'000), 1'000'000'000u);
  }
}

TEST(TickLine, AnotherRateIsFound) {
  const TickLine line = line_of({reading_at(0), reading_at(1e-4), reading_at(1, 2.51)});
  EXPECT_THAT(line.problem(), HasSubstr("ran 1.00"));
}

TEST(TickLine, ACounterThatGoesBackOrStandsIsFound) {
  ClockReading behind = reading_at(2);
  behind.ticks = reading_at(0.5).ticks;
  EXPECT_NE(line_of({reading_at(0), reading_at(1), behind}).problem(), "");
  ClockReading standing = reading_at(2);
  standing.ticks = reading_at(1).ticks;
  EXPECT_NE(line_of({reading_at(0), reading_at(1), standing}).problem(), "");
  EXPECT_EQ(line_of({reading_at(1), reading_at(1), reading_at(1)}).problem(), "");
}

RegionNode* add_ticks(RegionTree& tree, RegionNode* parent, const char* name, std::uint64_t total,
                      std::uint64_t self) {
  RegionNode* node = tree.child(parent, name);
  node->entered = node->calls = 1;
  node->ticks.total = total;
  node->ticks.self = self;
  return node;
}

// A rate at which every number is rounded.
TEST(RegionSums, WhatAddsUpInTicksAddsUpInNanoseconds) {
  const TickLine line = line_of({reading_at(0, 2.5961), reading_at(7, 2.5961)});
  RegionTree tree(0);
  RegionNode* outer = add_ticks(tree, tree.root(), "outer", 1003, 1003 - 101 - 303);
  add_ticks(tree, outer, "a", 101, 101);
  add_ticks(tree, add_ticks(tree, outer, "b", 303, 100), "c", 203, 203);
  RegionSums sums;
  sums.merge(tree);
  sums.convert_ticks(line);
  const auto& nodes = sums.nodes();
  ASSERT_EQ(nodes.size(), 5u);
  EXPECT_EQ(nodes[1].total_ns, nodes[1].self_ns + nodes[2].total_ns + nodes[3].total_ns);
  EXPECT_EQ(nodes[3].total_ns, nodes[3].self_ns + nodes[4].total_ns);
  EXPECT_NEAR(static_cast<double>(nodes[1].total_ns), 1003 / 2.5961, 4);
  sums.convert_ticks(line);
  EXPECT_NEAR(static_cast<double>(nodes[1].total_ns), 1003 / 2.5961, 4) << "once only";
}

TEST(RegionSums, AnOpenCallHasNoTotalAndASelfBelowZeroIsNone) {
  const TickLine line = line_of({reading_at(0), reading_at(7)});
  RegionTree tree(0);
  RegionNode* open = add_ticks(tree, tree.root(), "open", 0, 0);
  add_ticks(tree, open, "done", 1000, 1000);
  RegionNode* moved = add_ticks(tree, tree.root(), "moved", 500, std::uint64_t{0} - 100);
  add_ticks(tree, moved, "inside", 600, 600);
  RegionSums sums;
  sums.merge(tree);
  sums.convert_ticks(line);
  EXPECT_EQ(sums.nodes()[1].total_ns, 0u);
  for (const RegionSum& node : sums.nodes()) {
    if (node.name == "done") {
      EXPECT_EQ(node.total_ns, 400u);
    }
    if (node.name == "moved") {
      EXPECT_EQ(node.self_ns, 0u);
    }
  }
}

bool has_counter() { return why_no_counter(counter_facts("")).empty(); }

void spin_ns(std::uint64_t ns) {
  const std::uint64_t start = monotonic_ns();
  while (monotonic_ns() - start < ns) {
  }
}

TEST(RegionClock, ByTheCounterTimesAreThoseOfTheClock) {
  if (!has_counter()) GTEST_SKIP() << why_no_counter(counter_facts(""));
  in_child([] {
    pass("first");
    const std::uint64_t before = monotonic_ns();
    std::uint64_t start = 0, end = 0;
    {
      const Region region("spin");
      start = monotonic_ns();
      spin_ns(20'000'000);
      end = monotonic_ns();
    }
    const std::uint64_t after = monotonic_ns();
    const Json seen = report();
    EXPECT_EQ(seen["clock"], counter_name());
    EXPECT_TRUE(seen["clock_reason"].is_null()) << seen["clock_reason"];
    EXPECT_TRUE(seen["clock_problem"].is_null()) << seen["clock_problem"];
    // Two readings of both clocks, each of which may have been interrupted.
    constexpr double kReadings = 2000;
    const double total = row(seen, {"spin"})["total_ns"]["raw"];
    EXPECT_GE(total, static_cast<double>(end - start) - kReadings);
    EXPECT_LE(total, static_cast<double>(after - before) + kReadings);
    EXPECT_GT(seen["cost_ns"]["inside"], 0);
  });
}

TEST(RegionClock, TheKernelsClockIsTakenWhereItIsAskedFor) {
  in_child([] {
    setenv("HWPROF_CLOCK", "kernel", 1);
    pass("work");
    {
      const Region region("back");
      clock_ahead_ns = -5'000'000'000;
    }
    clock_stands = true;
    pass("stands");
    const Json seen = report();
    EXPECT_EQ(seen["clock"], "CLOCK_MONOTONIC");
    EXPECT_EQ(seen["clock_reason"], "HWPROF_CLOCK=kernel");
    EXPECT_EQ(row(seen, {"stands"})["total_ns"]["raw"], 0);
    EXPECT_EQ(row(seen, {"back"})["total_ns"]["raw"], 0);
    EXPECT_EQ(seen["mishaps"]["backwards"], 1);
    EXPECT_THAT(seen["notes"].dump(), HasSubstr("1 call ended before it began"));
  });
}

TEST(RegionClock, AnUnknownClockIsSaid) {
  in_child([] {
    setenv("HWPROF_CLOCK", "sundial", 1);
    pass("work");
    EXPECT_THAT(regions_text(), HasSubstr("HWPROF_CLOCK: 'sundial' is not known; 'kernel' is"));
  });
}

TEST(RegionClock, WhenTheClocksDoNotAgreeTheReportSaysSoAndNewThreadsTakeTheKernels) {
  if (!has_counter()) GTEST_SKIP() << why_no_counter(counter_facts(""));
  in_child([] {
    pass("good");
    EXPECT_TRUE(report()["clock_problem"].is_null());
    clock_ahead_ns = 5'000'000'000;
    const Json seen = report();
    EXPECT_THAT(seen["clock_problem"].dump(), HasSubstr("while the clock ran 5."));
    EXPECT_THAT(regions_text(), HasSubstr("Note: times are doubtful: the processor's counter"));
    EXPECT_LT(row(seen, {"good"})["total_ns"]["raw"], 4e9) << "by the rate of before";
    clock_stands = true;
    std::thread([] { pass("later"); }).join();
    EXPECT_EQ(row(report(), {"later"})["total_ns"]["raw"], 0);
  });
}

#if defined(__x86_64__)
// Whoever reads it is ended: the vDSO's clock, too, which is not here.
TEST(RegionClock, ACounterThatMayNotBeReadIsNotRead) {
  in_child([] {
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0) return;
    pass("work");
    const Json seen = report();
    EXPECT_EQ(seen["clock"], "CLOCK_MONOTONIC");
    EXPECT_THAT(seen["clock_reason"].dump(), HasSubstr("may not read"));
    EXPECT_EQ(row(seen, {"work"})["calls"], 1);
  });
}
#endif

TEST(RegionClock, CallsOfATraceAreTimedByTheKernel) {
  in_child([] {
    ASSERT_EQ(trace_regions(""), "");
    clock_ahead_ns = 1'000'000'000'000;
    const std::uint64_t before = monotonic_ns();
    pass("work");
    const std::uint64_t after = monotonic_ns();
    char path[] = "/tmp/hwprof-clock-XXXXXX";
    ASSERT_GE(mkstemp(path), 0);
    ASSERT_EQ(hwprof_write_trace(path), nullptr);
    std::FILE* file = std::fopen(path, "r");
    const Json trace = Json::parse(file);
    std::fclose(file);
    unlink(path);
    int slices = 0;
    for (const Json& event : trace["traceEvents"]) {
      if (event["ph"] != "X") continue;
      ++slices;
      EXPECT_GE(event["ts"].get<double>() * 1000, static_cast<double>(before) - 1);
      EXPECT_LE(event["ts"].get<double>() * 1000, static_cast<double>(after) + 1);
    }
    EXPECT_EQ(slices, 1);
  });
}

}  // namespace
}  // namespace hwprof
