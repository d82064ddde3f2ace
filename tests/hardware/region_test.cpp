// Regions on real counters: read in user space or by read(), what a region counts, what an edge
// costs, threads and forks. On PMUv3 before v3p5 (neoverse-n1) only the cycle counter has enough
// bits for user space; QEMU's "max" has v3p5, and instructions too.
#include "counters/regions/region.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sched.h>

#include <algorithm>
#include <functional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "counters/perf/group.h"
#include "counters/regions/region_edge.h"
#include "counters/regions/region_thread.h"
#include "tests/hardware/guest.h"
#include "tests/region_harness.h"

namespace hwprof {
namespace {

using guest::log_count;
using guest::spin;

constexpr std::uint64_t kRounds = 1'000'000;
constexpr double kInstructions = 2.0 * kRounds;
// Instructions of a read, and of an edge of a region with a name of up to eleven letters.
constexpr double kMostOfAUserRead = 100, kMostOfAReadCall = 200;
constexpr double kMostOfAUserEdge = 100, kMostOfAReadEdge = 430;
// What a second event may add to an edge, and eight more letters.
constexpr double kMostOfASecondEvent = 50, kMostOfEightLetters = 9;
// The call of spin(), and what the calibration leaves.
constexpr double kFew = 15;
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
    EXPECT_EQ(end.read_by == ReadBy::kUserSpace, GetParam().user_space);
    EXPECT_EQ(by_call.read_by, ReadBy::kCall);
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

// Counts from outside, by counters of the test's own.
class EdgeCost {
 public:
  EdgeCost() : group_(Group::open({&kInstructionsEvent, 1}, {.user_only = true})) {
    EXPECT_TRUE(group_ && group_->enable());
    now();
  }
  double now() {
    EXPECT_TRUE(group_->read(reading_));
    return static_cast<double>(reading_.values[0]);
  }
  double of(const std::function<void()>& work) {
    const double before = now();
    work();
    const double after = now();
    return after - before - (now() - after);
  }
  // The most of many, to enter and to leave; through the C interface, whose calls C++ makes too.
  std::pair<double, double> most(const char* name) {
    constexpr int kPairs = 200;
    double enter = 0, leave = 0;
    pass(name);
    for (int i = 0; i < kPairs; ++i) {
      const double before = now();
      const hwprof_region region = hwprof_enter(name);
      const double inside = now();
      hwprof_leave(region);
      const double after = now();
      const double empty = now() - after;
      enter = std::max(enter, inside - before - empty);
      leave = std::max(leave, after - inside - empty);
    }
    log_count(std::string("instructions to enter '") + name + "'", enter);
    log_count(std::string("instructions to leave '") + name + "'", leave);
    return {enter, leave};
  }

 private:
  Result<Group> group_;
  RawReading reading_;
};

TEST_P(Regions, AnEdgeCostsFewInstructions) {
  with_regions([] {
    EdgeCost cost;
    log_count("instructions of the clock", cost.of([] { monotonic_ns(); }));
    const double most = GetParam().user_space ? kMostOfAUserEdge : kMostOfAReadEdge;
    const auto [enter, leave] = cost.most("convolution");
    EXPECT_LE(enter, most);
    EXPECT_LE(leave, most);
    const Region around("around");
    const auto [enter_long, leave_long] = cost.most("convolution over words");
    if (GetParam().user_space) {
      EXPECT_LE(enter_long, enter + 2 * kMostOfEightLetters);
      EXPECT_EQ(leave_long, leave);
    }
    pass("convolution");
    const double object = cost.of([] { const Region region("convolution"); });
    log_count("instructions of an object of C++, made and destroyed", object);
    const Json seen = report();
    expect_read_as_meant(seen);
    const Json& event = seen["events"][0];
    log_count("calibrated, inside",
              event["cost_inside"].get<double>() / GetParam().per_instruction);
    log_count("calibrated, outside",
              event["cost_outside"].get<double>() / GetParam().per_instruction);
  });
}

// A nanosecond is half an instruction here, and the processor's counter ticks every 16.
TEST_P(Regions, TheClockIsRight) {
  with_regions([] {
    {
      const Region region("timed");
      spin(10 * kRounds);
    }
    const double took_ns = row(report(), {"timed"})["total_ns"]["corrected"];
    log_count("nanoseconds", took_ns);
    EXPECT_GE(took_ns, 2 * 10 * kInstructions - 16);
    EXPECT_LE(took_ns, 2 * 10 * kInstructions * 1.01) << "the kernel's own work is in it";
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

// More cycles than a register of 32 bits holds, in one region and in the sum of two.
TEST_P(Regions, CountsPass32Bits) {
  if (GetParam().event != kUserCycles.event) return;  // a cycle is the shortest of all events
  with_regions([] {
    constexpr std::uint64_t kLong = (std::uint64_t{1} << 30) + kRounds;  // 2^32 cycles and more
    {
      const Region around("around");
      const Region inside("inside");
      spin(kLong);
    }
    const Json seen = report();
    expect_read_as_meant(seen);
    const double exact = 2.0 * static_cast<double>(kLong);
    log_count("instructions in 2^32 cycles and more", counted(seen, {"around"}, "corrected"));
    EXPECT_NEAR(counted(seen, {"around"}, "corrected"), exact, kMostAround);
    EXPECT_NEAR(counted(seen, {"around", "inside"}, "corrected"), exact, kFew);
  });
}

constexpr auto kNameOf = [](const testing::TestParamInfo<Way>& way) { return way.param.name; };
INSTANTIATE_TEST_SUITE_P(AnyPmu, Regions, testing::Values(kReadCall, kUserCycles), kNameOf);
INSTANTIATE_TEST_SUITE_P(LongCounters, Regions, testing::Values(kUserInstructions), kNameOf);

// Two events of one group, each read in user space.
TEST(TwoUserEvents, AreCountedExactlyAndCheaply) {
  guest::write_setting("/proc/sys/kernel/perf_user_access", "1");
  in_child([] {
    ASSERT_EQ(start_regions("instructions:u,cycles:u"), "");
    {
      const Region around("around");
      for (int i = 0; i < 3; ++i) {
        const Region inside("inside");
        spin(kRounds);
      }
    }
    const Json seen = report();
    EXPECT_EQ(seen["threads"]["in_user_space"], 1);
    const auto expect_near = [&](const std::vector<std::string>& path, const char* kind,
                                 double exact, double most) {
      const Json events = row(seen, path)["events"];
      const double instructions = events["instructions:u"][kind]["corrected"];
      const double cycles = events["cycles:u"][kind]["corrected"];
      log_count(path.back() + ", instructions, " + kind, instructions);
      log_count(path.back() + ", cycles, " + kind, cycles);
      EXPECT_NEAR(instructions, exact, most);
      EXPECT_NEAR(cycles, kUserCycles.per_instruction * exact, kUserCycles.per_instruction * most);
    };
    expect_near({"around", "inside"}, "total", 3 * kInstructions, 3 * kFew);
    // The first entry of a path makes a node for it.
    expect_near({"around"}, "total", 3 * kInstructions, kMostAround);
    expect_near({"around"}, "self", 0, kMostAround);
    const auto [enter, leave] = EdgeCost().most("convolution");
    EXPECT_LE(enter, kMostOfAUserEdge + kMostOfASecondEvent);
    EXPECT_LE(leave, kMostOfAUserEdge + kMostOfASecondEvent);
  });
}

void run_on(unsigned cpu) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  ASSERT_EQ(sched_setaffinity(0, sizeof only, &only), 0);
}

// The counter that an event has, and what it has counted there, change with the CPU.
TEST(TwoCpus, ARegionFollowsItsThreadToTheOtherCpu) {
  guest::write_setting("/proc/sys/kernel/perf_user_access", "1");
  in_child([] {
    ASSERT_EQ(start_regions("cycles:u"), "");
    constexpr int kMoves = 20;
    {
      const Region around("around");
      for (int i = 0; i < kMoves; ++i) {
        const Region inside("inside");
        spin(kRounds);
        run_on(i % 2 == 0 ? 1 : 0);
        spin(kRounds);
        const Region there("there");
        spin(kRounds);
      }
    }
    const Json seen = report();
    EXPECT_EQ(seen["threads"]["in_user_space"], 1);
    EXPECT_TRUE(seen["notes"].empty()) << seen["notes"];
    const auto cycles = [&](const std::vector<std::string>& path, const char* kind) {
      const Json found = row(seen, path);
      EXPECT_EQ(found["counted_calls"], found["calls"]);
      const double count = found["events"]["cycles:u"][kind]["corrected"];
      log_count(path.back() + ", " + kind, count);
      return count / kUserCycles.per_instruction / kInstructions / kMoves;
    };
    constexpr double kNear = 0.005;  // the calls that move the thread are counted, too
    EXPECT_NEAR(cycles({"around"}, "total"), 3, kNear);
    EXPECT_NEAR(cycles({"around", "inside"}, "self"), 2, kNear);
    EXPECT_NEAR(cycles({"around", "inside", "there"}, "total"), 1, kNear);
  });
}

}  // namespace
}  // namespace hwprof
