// What /proc says of threads, as text and memory that are made up, and of this very process.
#include "src/observe/threads/thread_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "src/base/text.h"
#include "src/observe/threads/throttling.h"

namespace hwprof::observe {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::vector<std::string> folders(const std::vector<CpuGroup>& groups) {
  std::vector<std::string> all;
  for (const CpuGroup& group : groups) all.push_back((group.v2 ? "2 " : "1 ") + group.folder);
  return all;
}

TEST(ThreadClocks, ReadSchedstat) {
  const auto stat = parse_schedstat("365881864 363764807 96\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->run_ns, 365881864U);
  EXPECT_EQ(stat->ready_ns, 363764807U);
  EXPECT_FALSE(parse_schedstat(""));
  EXPECT_FALSE(parse_schedstat("x y z"));
}

TEST(ThreadClocks, TakeTheRestOfALifeToBeLikeWhatWasRead) {
  // Seen from 100 to 180 ms, a look every 20: it lived from 90 to 190.
  ThreadClock clock{.pid = 1,
                    .first = {},
                    .last = {45'000'000, 9'000'000},
                    .seen_ns = 100e6,
                    .read_ns = 180e6,
                    .pause_ns = 20e6,
                    .born = true,
                    .lives_until_ns = {},
                    .cpus = {}};
  ThreadTimes times = times_of(clock);
  EXPECT_NEAR(times.run_ns, 50e6, 1);
  EXPECT_NEAR(times.ready_ns, 10e6, 1);
  EXPECT_NEAR(times.blocked_ns, 40e6, 1);
  // To the end of the watching.
  clock.lives_until_ns = 270e6;
  times = times_of(clock);
  EXPECT_NEAR(times.run_ns, 90e6, 1);
  EXPECT_NEAR(times.ready_ns, 18e6, 1);
  EXPECT_NEAR(times.blocked_ns, 72e6, 1);
}

TEST(ThreadClocks, CountNothingFromBeforeTheWatching) {
  const ThreadClock clock{.pid = 1,
                          .first = {900'000'000, 500'000'000},
                          .last = {940'000'000, 520'000'000},
                          .seen_ns = 100e6,
                          .read_ns = 200e6,
                          .pause_ns = 20e6,
                          .born = false,
                          .lives_until_ns = 200e6,
                          .cpus = {}};
  const ThreadTimes times = times_of(clock);
  EXPECT_NEAR(times.run_ns, 40e6, 1);
  EXPECT_NEAR(times.ready_ns, 20e6, 1);
  EXPECT_NEAR(times.blocked_ns, 40e6, 1);
}

TEST(Throttling, IsReadFromBothVersions) {
  const auto v1 = parse_cpu_stat("nr_periods 20\nnr_throttled 7\nthrottled_time 123000000\n");
  ASSERT_TRUE(v1);
  EXPECT_EQ(v1->times, 7U);
  EXPECT_DOUBLE_EQ(v1->throttled_ns, 123e6);
  const auto v2 = parse_cpu_stat(
      "usage_usec 9\nuser_usec 5\nnr_periods 20\nnr_throttled 7\nthrottled_usec 123000\n");
  ASSERT_TRUE(v2);
  EXPECT_EQ(v2->times, 7U);
  EXPECT_DOUBLE_EQ(v2->throttled_ns, 123e6);
  EXPECT_FALSE(parse_cpu_stat("usage_usec 9\nuser_usec 5\n")) << "the root has no controller";
  EXPECT_DOUBLE_EQ(parse_cpu_max("150000 100000\n").value_or(0), 1.5);
  EXPECT_FALSE(parse_cpu_max("max 100000\n"));
  EXPECT_DOUBLE_EQ(quota_of("50000\n", "100000\n").value_or(0), 0.5);
  EXPECT_FALSE(quota_of("-1\n", "100000\n"));
}

TEST(Throttling, IsLookedForFromTheOwnGroupUpwards) {
  EXPECT_THAT(
      folders(cpu_groups("0::/user.slice/job\n",
                         "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n")),
      ElementsAre("2 /sys/fs/cgroup/user.slice/job", "2 /sys/fs/cgroup/user.slice",
                  "2 /sys/fs/cgroup"));
  EXPECT_THAT(
      folders(cpu_groups("4:cpu,cpuacct:/jobs/7\n3:memory:/x\n0::/\n",
                         "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
                         "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n")),
      ElementsAre("1 /sys/fs/cgroup/cpu/jobs/7", "1 /sys/fs/cgroup/cpu/jobs",
                  "1 /sys/fs/cgroup/cpu"));
}

TEST(Throttling, IsSeenInAContainer) {
  // Its mount shows the hierarchy from its own group on.
  EXPECT_THAT(folders(cpu_groups("0::/docker/abc/inner\n",
                                 "30 24 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n")),
              ElementsAre("2 /sys/fs/cgroup/inner", "2 /sys/fs/cgroup"));
  // In a namespace of its own the group is told from there.
  EXPECT_THAT(
      folders(cpu_groups("4:cpu:/\n",
                         "30 24 0:26 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n")),
      ElementsAre("1 /sys/fs/cgroup/cpu"));
  EXPECT_THAT(folders(cpu_groups("0::/a\n", "24 1 0:5 / /proc rw - proc proc rw\n")), IsEmpty());
  EXPECT_THAT(folders(cpu_groups("", "")), IsEmpty());
  // Not the kernel's own text.
  EXPECT_THAT(
      folders(cpu_groups("0::x\n", "31 25 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")),
      ElementsAre("2 /sys/fs/cgroup"));
}

// A group of a tenth of a CPU, of either version; "" where none can be made.
std::string tenth_of_a_cpu() {
  const auto put = [](const std::string& file, const std::string& value) {
    std::ofstream(file) << value << std::flush;
    return trim(read_text_file(file).value_or("")) == value;
  };
  const std::string name = "/hwprof-throttled-" + std::to_string(::getpid());
  for (const std::string base : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup"}) {
    const std::string folder = base + name;
    if (::mkdir(folder.c_str(), 0755) != 0) continue;
    if (put(folder + "/cpu.cfs_quota_us", "10000") || put(folder + "/cpu.max", "10000 100000"))
      return folder;
    ::rmdir(folder.c_str());
  }
  return "";
}

TEST(Throttling, TheQuotaOfAProcessThatHasEndedIsKnown) {
  const std::string folder = tenth_of_a_cpu();
  if (folder.empty()) GTEST_SKIP() << "no cgroup can be made";
  const pid_t busy = ::fork();
  if (busy == 0) {
    std::ofstream(folder + "/cgroup.procs") << ::getpid() << std::flush;
    while (true) {
    }
  }
  ::usleep(100'000);
  Throttling throttling(busy);
  ::usleep(500'000);
  throttling.look();
  ::kill(busy, SIGKILL);
  siginfo_t ended{};
  ::waitid(P_PID, static_cast<id_t>(busy), &ended, WEXITED | WNOWAIT);
  ::usleep(500'000);
  throttling.look();  // version 1: it is in the root by now
  const auto throttled = throttling.finish();
  ::waitpid(busy, nullptr, 0);
  ::rmdir(folder.c_str());
  ASSERT_TRUE(throttled) << throttling.reason();
  EXPECT_GT(throttled->times, 0U);
  EXPECT_DOUBLE_EQ(throttled->quota_cpus.value_or(0), 0.1);
}

TEST(BusyCpus, AreTheirTimeWithoutIdlingAndWhatAHypervisorTook) {
  const auto busy = parse_busy(
      "cpu  30 0 6 900 4 0 0 50 0 0\ncpu0 10 1 2 400 4 3 5 50 7 0\ncpu1 20 0 4 500 0 0 0 0 0 0\n"
      "intr 5\n",
      10e6);
  EXPECT_THAT(busy, ElementsAre(Pair(0, 210e6), Pair(1, 240e6)));
}

// Two threads in a list as glibc keeps them.
TEST(StartRoutines, AreReadFromTheListOfThreads) {
  std::vector<std::byte> memory(0x400);
  const auto put = [&](std::uint64_t at, auto value) {
    std::memcpy(&memory.at(at), &value, sizeof value);
  };
  const ReadMemory read = [&](std::uint64_t address, std::span<std::byte> to) {
    if (address + to.size() > memory.size()) return false;
    std::memcpy(to.data(), &memory.at(address), to.size());
    return true;
  };
  const ThreadLayout layout{.start_routine = 0x40, .tid = 0x20, .list = 0x10, .list_head = 0x8};
  const auto thread = [&](std::uint64_t descriptor, std::int32_t tid, std::uint64_t routine,
                          std::uint64_t next) {
    put(descriptor + 0x10, next);
    put(descriptor + 0x20, tid);
    put(descriptor + 0x40, routine);
  };
  put(0x8, std::uint64_t{0x110});
  // What stands around the head is no thread, whatever it looks like.
  put(0x8 - 0x10 + 0x20, std::int32_t{43});
  put(0x8 - 0x10 + 0x40, std::uint64_t{0x7f03});
  thread(0x100, 41, 0x7f01, 0x210);
  thread(0x200, 42, 0x7f02, 0x8);
  EXPECT_THAT(start_routines(layout, read), ElementsAre(Pair(41, 0x7f01U), Pair(42, 0x7f02U)));
  thread(0x200, 42, 0x7f02, 0x110);
  EXPECT_EQ(start_routines(layout, read).size(), 2U) << "a circle ends";
  thread(0x200, 42, 0x7f02, 0x10000);
  EXPECT_EQ(start_routines(layout, read).size(), 2U) << "so does a list that leads nowhere";
}

#if defined(__GLIBC__)

std::atomic<pid_t> started{0};
std::atomic<bool> release{false};
void* begins_here(void* /*nothing*/) {
  started = static_cast<pid_t>(::syscall(SYS_gettid));
  while (!release) ::usleep(1000);
  return nullptr;
}

TEST(StartRoutines, OfThisProcessAreKnown) {
  pthread_t thread{};
  ASSERT_EQ(::pthread_create(&thread, nullptr, begins_here, nullptr), 0);
  while (started == 0) ::usleep(1000);
  StartRoutines routines;
  const auto known = routines.of(::getpid());
  release = true;
  ::pthread_join(thread, nullptr);
  if (known.empty()) GTEST_SKIP() << "this C library has no list of threads that is described";
  ASSERT_TRUE(known.contains(started));
  EXPECT_EQ(known.at(started), reinterpret_cast<std::uint64_t>(&begins_here));
}

#endif

TEST(ThreadWatch, SeesTheThreadsOfThisProcess) {
  const auto used_ns = [] {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
  };
  for (const double end = used_ns() + 300e6; used_ns() < end;) {
  }
  ThreadWatch watch(::getpid(), false);
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) {
    }
  });
  std::vector<std::uint64_t> routines;
  for (int i = 0; i < 15; ++i) {
    ::usleep(20'000);
    watch.look([&](pid_t /*pid*/, pid_t /*tid*/, std::uint64_t address) {
      routines.push_back(address);
      return true;
    });
  }
  stop = true;
  busy.join();
  const ThreadFacts facts = watch.finish();
  if (!facts.clocks_reason.empty()) GTEST_SKIP() << facts.clocks_reason;
  EXPECT_GE(facts.threads.size(), 2U);
  double run_ns = 0, ready_ns = 0;
  for (const BusyThread& thread : facts.threads) {
    run_ns += thread.times.run_ns;
    ready_ns += thread.times.ready_ns;
    if (thread.tid == ::getpid()) {
      EXPECT_LT(thread.times.run_ns, 200e6) << "what it did before is not of this watching";
    }
  }
  EXPECT_GE(run_ns + ready_ns, 0.5 * facts.wall_ns) << "one thread never slept";
  EXPECT_FALSE(facts.allowed.empty());
}

}  // namespace
}  // namespace hwprof::observe
