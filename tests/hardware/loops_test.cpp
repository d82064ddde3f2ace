// Loops of known length, counted by an ordinary user (no kernel instructions): to the instruction.
// QEMU's -icount with shift=1 makes every instruction 2 ns and every cycle 1 ns long, so that IPC
// is 0.5 and a swapped column shows.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/hardware/guest.h"

namespace hwprof {
namespace {

using guest::count;
using guest::count_one;
using guest::spin;

constexpr double kCyclesPerInstruction = 2;
constexpr std::uint64_t kRounds[] = {1, 1'000, 1'000'000, 50'000'000};

double instructions_of(std::uint64_t rounds) {
  const EventCount counted = count_one("instructions", [&] { spin(rounds); });
  EXPECT_EQ(to_string(counted.status), "ok") << counted.reason;
  return counted.value.value_or(-1);
}

TEST(Loops, InstructionsAreExact) {
  const double around = instructions_of(1) - 2;
  guest::log_count("instructions around the loop", around);
  EXPECT_GT(around, 0);
  EXPECT_LT(around, guest::kMostAround);
  for (const std::uint64_t rounds : kRounds) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      const double counted = instructions_of(rounds);
      guest::log_count("instructions of " + std::to_string(rounds) + " rounds", counted);
      EXPECT_EQ(counted - around, 2 * static_cast<double>(rounds));
    }
  }
}

TEST(Loops, CyclesAreExactAndIpcIsOneHalf) {
  for (const std::uint64_t rounds : kRounds) {
    const auto counted = count({"cycles", "instructions"}, [&] { spin(rounds); });
    guest::expect_counted(counted[0]);
    guest::expect_counted(counted[1]);
    EXPECT_EQ(counted[0].value, kCyclesPerInstruction * counted[1].value.value_or(-1));
  }
}

TEST(Loops, ColumnsFollowTheNamesInAnyOrder) {
  const auto work = [] { spin(1'000'000); };
  const auto forth = count({"cycles", "instructions", "task-clock"}, work);
  const auto back = count({"task-clock", "instructions", "cycles"}, work);
  EXPECT_EQ(forth[0].name, "cycles");
  EXPECT_EQ(back[0].name, "task-clock");
  EXPECT_EQ(forth[0].value, back[2].value);
  EXPECT_EQ(forth[1].value, back[1].value);
  EXPECT_EQ(forth[0].value, kCyclesPerInstruction * forth[1].value.value_or(-1));
  // 2,000,000 instructions of 2 ns, and what the kernel does at the edges.
  EXPECT_NEAR(forth[2].value.value_or(-1), 4e6, 1e5);
  EXPECT_EQ(forth[2].unit, "ns");
}

TEST(Loops, CallsAddUp) {
  const std::vector<std::string> names = {"instructions"};
  auto counting = Counting::open(probe_machine(0), 0, names, {});
  ASSERT_TRUE(counting) << counting.error().what;
  constexpr int kStretches = 10, kCallsEach = 4;
  constexpr std::uint64_t kLong = 10'000, kShort = 5'000;
  const auto total_of = [&](std::uint64_t rounds) {
    Tally tally;
    for (int stretch = 0; stretch < kStretches; ++stretch) {
      EXPECT_TRUE(counting->start(0));
      for (int call = 0; call < kCallsEach; ++call) spin(rounds);
      EXPECT_TRUE(counting->stop(0, tally, kCallsEach));
    }
    const EventCount counted = counting->evaluate(tally).front();
    EXPECT_EQ(counted.calls, kStretches * kCallsEach);
    EXPECT_EQ(counted.value, counted.total.value_or(-1) / counted.calls);
    return counted.total.value_or(-1);
  };
  const double difference = total_of(kLong) - total_of(kShort);
  guest::log_count("40 calls of 10,000 rounds less 40 of 5,000", difference);
  EXPECT_EQ(difference, kStretches * kCallsEach * 2.0 * (kLong - kShort));
}

TEST(Loops, AnotherProcessOnTheCpuAddsNothing) {
  const double alone = instructions_of(kRounds[3]);
  const pid_t other = fork();
  ASSERT_GE(other, 0);
  if (other == 0)
    for (;;) spin(1'000'000);
  const double shared = instructions_of(kRounds[3]);
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  guest::log_count("instructions alone", alone);
  guest::log_count("instructions beside another process", shared);
  EXPECT_EQ(shared, alone);
}

TEST(Loops, PageFaultsAreCountedAndAddNothing) {
  constexpr std::size_t kPages = 100, kPageBytes = 4096;
  const auto touch = [](volatile char* pages) {
    for (std::size_t i = 0; i < kPages; ++i) pages[i * kPageBytes] = 1;
  };
  // The first call faults, the second on the same pages does not.
  std::vector<double> instructions, faults;
  const std::vector<std::string> names = {"instructions", "page-faults"};
  auto counting = Counting::open(probe_machine(0), 0, names, {});
  ASSERT_TRUE(counting) << counting.error().what;
  // Not from the heap: what was freed there may be mapped still.
  void* fresh = mmap(nullptr, kPages * kPageBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(fresh, MAP_FAILED);
  auto* pages = static_cast<char*>(fresh);
  for (int call = 0; call < 2; ++call) {
    Tally tally;
    ASSERT_TRUE(counting->start(0));
    touch(pages);
    ASSERT_TRUE(counting->stop(0, tally, 1));
    const auto counted = counting->evaluate(tally);
    instructions.push_back(counted[0].value.value_or(-1));
    faults.push_back(counted[1].value.value_or(-1));
  }
  munmap(fresh, kPages * kPageBytes);
  guest::log_count("faults of the first touch", faults[0]);
  guest::log_count("instructions of the first touch", instructions[0]);
  guest::log_count("instructions of the second touch", instructions[1]);
  EXPECT_EQ(faults[0], kPages);
  EXPECT_EQ(instructions[0], instructions[1]);
}

}  // namespace
}  // namespace hwprof
