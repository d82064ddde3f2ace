// Regions on real counters: read in user space or by read(), what a region counts, what an edge
// costs, threads and forks. On PMUv3 before v3p5 (neoverse-n1) only the cycle counter has enough
// bits for user space; QEMU's "max" has v3p5, and instructions too.
#include "counters/region.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "counters/group.h"
#include "counters/region_edge.h"
#include "counters/region_thread.h"
#include "tests/hardware/guest.h"
#include "tests/region_harness.h"

namespace hwprof {
namespace {

using guest::log_count;
using guest::spin;

constexpr std::uint64_t kRounds = 1'000'000;
constexpr double kInstructions = 2.0 * kRounds;
// Instructions of a read and of an edge. An edge takes a read, the clock (58) and the path's name:
// 321 and 303 when this was written, 420 with read().
constexpr double kMostOfAUserRead = 100, kMostOfAReadCall = 200;
constexpr double kMostOfAUserEdge = 330, kMostOfAReadEdge = 430;
// The call of spin(), and what the calibration leaves.
constexpr double kFew = 10;
// Starting and joining a thread; fork and waitpid.
constexpr double kMostAround = 50'000;

NativeEvent hardware_event(std::uint64_t config) {
  NativeEvent event;
  event.type = PERF_TYPE_HARDWARE;
  event.config = config;
  return event;
}

// How counters are read, and one that can be read that way.
struct Way {
  const char* name;
  const char* event;
  NativeEvent native;
  double per_instruction;  // a cycle is 1 ns, an instruction 2 (guest/qemu.py)
  bool user_space;
};

// For GoogleTest, which prints the bytes otherwise.
void PrintTo(const Way& way, std::ostream* out) {  // NOLINT(readability-identifier-naming)
  *out << way.name;
}

const NativeEvent kInstructionsEvent = hardware_event(PERF_COUNT_HW_INSTRUCTIONS);
const NativeEvent kCyclesEvent = hardware_event(PERF_COUNT_HW_CPU_CYCLES);
const Way kReadCall{"ReadCall", "instructions:u", kInstructionsEvent, 1, false};
const Way kUserCycles{"UserCycles", "cycles:u", kCyclesEvent, 2, true};
const Way kUserInstructions{"UserInstructions", "instructions:u", kInstructionsEvent, 1, true};

class Regions : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    guest::write_setting("/proc/sys/kernel/perf_user_access", GetParam().user_space ? "1" : "0");
  }
  // In a process of its own, with the event chosen.
  static void with_regions(const std::function<void()>& work) {
    in_child([&] {
      ASSERT_EQ(start_regions(GetParam().event), "");
      work();
    });
  }
  // "raw" or "corrected", in instructions.
  static double counted(const Json& report, const std::vector<std::string>& path,
                        const std::string& kind) {
    const Json event = row(report, path)["events"][GetParam().event];
    EXPECT_EQ(event["status"], "ok") << event;
    return event["total"][kind].get<double>() / GetParam().per_instruction;
  }
  // Every thread reads as it is meant to.
  static void expect_read_as_meant(const Json& report) {
    const Json& threads = report["threads"];
    EXPECT_EQ(threads["without_counters"], 0) << threads;
    EXPECT_EQ(threads["in_user_space"], GetParam().user_space ? threads["total"].get<int>() : 0);
  }
};

// Where the sysctl forbids it, every read is a read(), without being asked.
TEST_P(Regions, AReadAgreesWithTheKernels) {
  for (const std::uint64_t rounds : {1U, 1'000U, 1'000'000U, 10'000'000U}) {
    auto counters = ThreadCounters::open({&GetParam().native, 1}, true);
    ASSERT_TRUE(counters) << counters.error().what;
    EXPECT_EQ(counters->user_space(), GetParam().user_space);
    Edge warm_up, start, end, again, by_call;
    counters->read(warm_up);
    counters->read(start);
    spin(rounds);
    counters->read(end);
    counters->read(again);
    counters->stop_user_space();
    counters->read(by_call);
    EXPECT_EQ(end.user_space, GetParam().user_space);
    EXPECT_FALSE(by_call.user_space);
    const auto between = [](const Edge& from, const Edge& to) {
      return static_cast<double>(to.values[0] - from.values[0]) / GetParam().per_instruction;
    };
    const double cost = between(end, again);
    log_count("instructions from one read to the next", cost);
    log_count("from there to a read()", between(again, by_call));
    log_count("in " + std::to_string(rounds) + " rounds", between(start, end) - cost);
    EXPECT_LE(cost, GetParam().user_space ? kMostOfAUserRead : kMostOfAReadCall);
    EXPECT_GT(between(again, by_call), 0);
    EXPECT_LE(between(again, by_call), kMostOfAReadCall);
    EXPECT_NEAR(between(start, end) - cost, 2.0 * static_cast<double>(rounds), kFew);
  }
}

TEST_P(Regions, ALoopIsCountedExactly) {
  with_regions([] {
    constexpr std::uint64_t kLengths[] = {1, 1'000, 1'000'000, 50'000'000};
    constexpr int kRepeats = 3;
    const auto name = [](std::uint64_t rounds, int repeat) {
      return std::to_string(rounds) + " rounds, " + std::to_string(repeat);
    };
    for (const std::uint64_t rounds : kLengths)
      for (int repeat = 0; repeat < kRepeats; ++repeat) {
        const std::string path = name(rounds, repeat);  // not freed inside
        const Region region(path);
        spin(rounds);
      }
    const Json seen = report();
    expect_read_as_meant(seen);
    const double around = counted(seen, {name(1, 0)}, "raw") - 2;
    log_count("instructions around the loop", around);
    for (const std::uint64_t rounds : kLengths)
      for (int repeat = 0; repeat < kRepeats; ++repeat) {
        const double exact = 2.0 * static_cast<double>(rounds);
        const double raw = counted(seen, {name(rounds, repeat)}, "raw");
        const double corrected = counted(seen, {name(rounds, repeat)}, "corrected");
        log_count(name(rounds, repeat) + ", raw", raw);
        log_count(name(rounds, repeat) + ", corrected", corrected);
        EXPECT_EQ(raw - exact, around);
        EXPECT_NEAR(corrected, exact, kFew);
      }
  });
}

// Counted from outside, by counters of the test's own.
TEST_P(Regions, AnEdgeCostsFewInstructions) {
  with_regions([] {
    auto group = Group::open({&kInstructionsEvent, 1}, {.user_only = true});
    ASSERT_TRUE(group) << group.error().what;
    ASSERT_TRUE(group->enable());
    RawReading reading;
    const auto now = [&] {
      EXPECT_TRUE(group->read(reading));
      return static_cast<double>(reading.values[0]);
    };
    pass("edge");
    now();
    const double before_clock = now();
    monotonic_ns();
    const double after_clock = now();
    const double clock = after_clock - before_clock - (now() - after_clock);
    log_count("instructions of the clock", clock);
    double most_to_enter = 0, most_to_leave = 0;
    for (int i = 0; i < 100; ++i) {
      const double before = now();
      const hwprof_region region = hwprof_enter("edge");
      const double inside = now();
      hwprof_leave(region);
      const double after = now();
      const double empty = now() - after;
      most_to_enter = std::max(most_to_enter, inside - before - empty);
      most_to_leave = std::max(most_to_leave, after - inside - empty);
    }
    const Json seen = report();
    expect_read_as_meant(seen);
    const Json& event = seen["events"][0];
    log_count("instructions to enter", most_to_enter);
    log_count("instructions to leave", most_to_leave);
    log_count("calibrated, inside",
              event["cost_inside"].get<double>() / GetParam().per_instruction);
    log_count("calibrated, outside",
              event["cost_outside"].get<double>() / GetParam().per_instruction);
    const double most = GetParam().user_space ? kMostOfAUserEdge : kMostOfAReadEdge;
    EXPECT_LE(most_to_enter, most);
    EXPECT_LE(most_to_leave, most);
  });
}

TEST_P(Regions, AThreadBornInsideIsNotCounted) {
  with_regions([] {
    {
      const Region parent("parent");
      std::thread child([] {
        {
          const Region own("child");
          spin(10 * kRounds);
        }
        spin(kRounds);
      });
      spin(kRounds);
      child.join();
    }
    const Json seen = report();
    expect_read_as_meant(seen);
    EXPECT_EQ(seen["threads"]["total"], 2);
    EXPECT_EQ(seen["threads"]["ended_inside"], 0);
    EXPECT_EQ(seen["regions"].size(), 2U) << "the child's region is in none of the parent's";
    const double parent = counted(seen, {"parent"}, "corrected");
    const double child = counted(seen, {"child"}, "corrected");
    log_count("the parent's region", parent);
    log_count("the child's region", child);
    EXPECT_GE(parent, kInstructions);
    EXPECT_LT(parent, kInstructions + kMostAround);
    EXPECT_NEAR(child, 10 * kInstructions, kFew);
  });
}

TEST_P(Regions, AThreadThatEndsInsideIsReportedWithItsCount) {
  with_regions([] {
    {
      const Region parent("parent");
      std::thread([] {
        hwprof_enter("cut off");
        spin(10 * kRounds);
      }).join();
      spin(kRounds);
    }
    const Json seen = report();
    expect_read_as_meant(seen);
    EXPECT_EQ(seen["threads"]["ended_inside"], 1);
    EXPECT_EQ(row(seen, {"cut off"})["unfinished"], 1);
    EXPECT_EQ(row(seen, {"parent"})["unfinished"], 0);
    EXPECT_THAT(seen["notes"].dump(), testing::HasSubstr("ended inside a region"));
    const double parent = counted(seen, {"parent"}, "corrected");
    const double cut_off = counted(seen, {"cut off"}, "corrected");
    log_count("the parent's region", parent);
    log_count("the region cut off", cut_off);
    EXPECT_GE(parent, kInstructions);
    EXPECT_LT(parent, kInstructions + kMostAround);
    EXPECT_GE(cut_off, 10 * kInstructions);
    EXPECT_LT(cut_off, 10 * kInstructions + kMostAround);
  });
}

TEST_P(Regions, AForkedChildStartsEmptyAndTheParentIsUnharmed) {
  with_regions([] {
    { const Region before("before"); }
    {
      const Region around("around");
      spin(kRounds);
      in_child([] {
        EXPECT_TRUE(report()["regions"].empty());
        {
          const Region own("own");
          spin(10 * kRounds);
        }
        const Json seen = report();
        expect_read_as_meant(seen);
        EXPECT_EQ(seen["threads"]["total"], 1);
        EXPECT_EQ(seen["regions"].size(), 1U);
        const double own = counted(seen, {"own"}, "corrected");
        log_count("the child's region", own);
        EXPECT_NEAR(own, 10 * kInstructions, kFew);
      });
      spin(kRounds);
    }
    {
      const Region after("after");
      spin(kRounds);
    }
    const Json seen = report();
    expect_read_as_meant(seen);
    EXPECT_EQ(seen["threads"]["total"], 1);
    EXPECT_EQ(seen["regions"].size(), 3U);
    EXPECT_TRUE(seen["notes"].empty()) << seen["notes"];
    const double around = counted(seen, {"around"}, "corrected");
    const double after = counted(seen, {"after"}, "corrected");
    log_count("the parent's region around the fork", around);
    log_count("the parent's next region", after);
    EXPECT_GE(around, 2 * kInstructions);
    EXPECT_LT(around, 2 * kInstructions + kMostAround);
    EXPECT_NEAR(after, kInstructions, kFew);
  });
}

constexpr auto kNameOf = [](const testing::TestParamInfo<Way>& way) { return way.param.name; };
INSTANTIATE_TEST_SUITE_P(AnyPmu, Regions, testing::Values(kReadCall, kUserCycles), kNameOf);
INSTANTIATE_TEST_SUITE_P(LongCounters, Regions, testing::Values(kUserInstructions), kNameOf);

}  // namespace
}  // namespace hwprof
