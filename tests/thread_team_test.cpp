#include "kernels/thread_team.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <thread>

#include "counters/machine/affinity.h"

namespace hwprof {
namespace {

TEST(ThreadTeam, EachThreadWorksOnceARunOverManyRuns) {
  for (const std::size_t size : {1, 2, 5}) {
    ThreadTeam team(size, {});
    std::vector<int> runs(size);  // each element is written by one thread: no lock, no race
    for (int i = 0; i < 2000; ++i) team.run([&](std::size_t thread) { ++runs[thread]; });
    EXPECT_EQ(runs, std::vector<int>(size, 2000));
  }
}

TEST(ThreadTeam, WakesUpAfterItHasGoneToSleep) {
  ThreadTeam team(3, {});
  std::vector<int> runs(3);
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    team.run([&](std::size_t thread) { ++runs[thread]; });
  }
  EXPECT_EQ(runs, std::vector<int>(3, 3));
}

TEST(ThreadTeam, WorkersArePinned) {
  const CpuList cpus = allowed_cpus();
  ThreadTeam team(2, {cpus.back()});
  std::vector<unsigned> on(2);
  team.run([&](std::size_t thread) { on[thread] = static_cast<unsigned>(sched_getcpu()); });
  EXPECT_EQ(on[1], cpus.back());
}

TEST(ShareOf, CoversAllItemsInEqualParts) {
  for (const std::size_t count : {0, 1, 7, 64, 123}) {
    for (const std::size_t parts : {1, 2, 3, 10}) {
      std::size_t next = 0;
      for (std::size_t i = 0; i < parts; ++i) {
        const auto [begin, end] = share_of(count, i, parts);
        EXPECT_EQ(begin, next);
        EXPECT_LE(end - begin, count / parts + 1);
        EXPECT_GE(end - begin, count / parts);
        next = end;
      }
      EXPECT_EQ(next, count);
    }
  }
}

}  // namespace
}  // namespace hwprof
