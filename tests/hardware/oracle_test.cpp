// Debian's perf as the oracle: the same static program, the same counts.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "counters/perf/group.h"
#include "tests/hardware/guest.h"

namespace hwprof {
namespace {

constexpr const char* kProgram = "/bin/known_count";
constexpr std::uint64_t kInstructions = 10'000'004, kCycles = 2 * kInstructions;

// "VALUE,,EVENT,..." lines of `perf stat -x,`.
std::map<std::string, std::uint64_t> perf_stat(const std::string& events) {
  const std::string file = "/tmp/perf.csv";
  const std::string command = "perf stat -x, -o " + file + " -e " + events + " " + kProgram;
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::map<std::string, std::uint64_t> counts;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t comma = line.find(','), name = comma + 2;
    if (line.empty() || line[0] == '#' || comma == std::string::npos) continue;
    counts[line.substr(name, line.find(',', name) - name)] = std::stoull(line.substr(0, comma));
  }
  return counts;
}

// hwprof's group on the same program, from its first instruction: a traced child stops at exec.
RawReading group_count() {
  RawReading reading;
  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    execl(kProgram, kProgram, nullptr);
    _exit(127);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSTOPPED(status));
  NativeEvent cycles, instructions;
  cycles.type = instructions.type = PERF_TYPE_HARDWARE;
  cycles.config = PERF_COUNT_HW_CPU_CYCLES;
  instructions.config = PERF_COUNT_HW_INSTRUCTIONS;
  const NativeEvent events[] = {cycles, instructions};
  auto group = Group::open(events, {.thread = child, .user_only = true});
  EXPECT_TRUE(group) << group.error().what;
  if (!group) return reading;
  EXPECT_TRUE(group->enable());
  ptrace(PTRACE_CONT, child, nullptr, nullptr);
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_TRUE(group->read(reading));
  return reading;
}

TEST(Oracle, PerfStatAndTheGroupSayTheKnownCount) {
  auto by_perf = perf_stat("cycles:u,instructions:u");
  const RawReading by_group = group_count();
  ASSERT_EQ(by_group.values.size(), 2U);
  guest::log_count("instructions, perf stat", static_cast<double>(by_perf["instructions:u"]));
  guest::log_count("instructions, hwprof", static_cast<double>(by_group.values[1]));
  guest::log_count("cycles, perf stat", static_cast<double>(by_perf["cycles:u"]));
  guest::log_count("cycles, hwprof", static_cast<double>(by_group.values[0]));
  EXPECT_EQ(by_perf["instructions:u"], kInstructions);
  EXPECT_EQ(by_group.values[1], kInstructions);
  EXPECT_EQ(by_perf["cycles:u"], kCycles);
  EXPECT_EQ(by_group.values[0], kCycles);
}

}  // namespace
}  // namespace hwprof
