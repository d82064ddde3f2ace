// Regions where counting is refused, in part or wholly: times go on, and the report says why.
#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/region_harness.h"

namespace hwprof {
namespace {

using testing::HasSubstr;

// From now on perf_event_open fails with `code` in this process.
bool forbid_perf(unsigned code) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | code),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(filter)), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

class RegionRefused : public testing::TestWithParam<int> {};

TEST_P(RegionRefused, TimesGoOnWithTheReason) {
  in_child([] {
    if (!forbid_perf(static_cast<unsigned>(GetParam()))) _exit(0);  // no seccomp here
    ASSERT_EQ(start_regions("page-faults,instructions"), "");
    for (int i = 0; i < 10; ++i) pass("alone");
    const Json seen = report();
    EXPECT_EQ(row(seen, {"alone"})["calls"], 10);
    EXPECT_GT(row(seen, {"alone"})["total_ns"]["raw"], 0);
    EXPECT_EQ(row(seen, {"alone"})["counted_calls"], 0);
    EXPECT_TRUE(row(seen, {"alone"})["events"]["page-faults"]["total"].is_null());
    EXPECT_FALSE(row(seen, {"alone"})["events"]["page-faults"]["reason"].is_null());
    EXPECT_EQ(seen["events"][0]["status"], "denied");
    EXPECT_THAT(regions_text(), HasSubstr("seccomp"));
  });
}
INSTANTIATE_TEST_SUITE_P(Region, RegionRefused, testing::Values(EPERM, EACCES, ENOSYS));

// Allowed when the events were chosen, forbidden for a thread that comes later.
TEST(RegionRefusedLater, ThoseThreadsHaveTimesOnlyAndTheSumSaysSo) {
  in_child([] {
    ASSERT_EQ(start_regions("page-faults"), "");
    pass("work");
    if (!is_counted(report(), "page-faults") || !forbid_perf(EPERM)) _exit(0);
    std::thread([] { pass("work"); }).join();
    std::thread([] { pass("late"); }).join();
    const Json seen = report();
    EXPECT_EQ(row(seen, {"work"})["calls"], 2);
    EXPECT_EQ(row(seen, {"work"})["counted_calls"], 1);
    EXPECT_EQ(row(seen, {"work"})["events"]["page-faults"]["reason"], "counted in 1 of 2 calls");
    EXPECT_TRUE(row(seen, {"late"})["events"]["page-faults"]["total"].is_null());
    EXPECT_EQ(seen["threads"]["without_counters"], 2);
    EXPECT_THAT(seen["notes"].dump(), HasSubstr("2 of 3 threads have times only"));
    EXPECT_THAT(regions_text(), HasSubstr("*: not all calls were counted"));
  });
}

TEST(RegionRefusedLater, CountersLeaveFileDescriptorsToTheProgram) {
  in_child([] {
    const rlimit small{32, 32};
    setrlimit(RLIMIT_NOFILE, &small);
    ASSERT_EQ(start_regions("page-faults,task-clock"), "");
    pass("work");
    if (!is_counted(report(), "page-faults")) _exit(0);
    std::atomic<int> inside = 0;
    std::atomic<bool> go = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < 20; ++i)
      threads.emplace_back([&] {
        Region region("work");
        ++inside;
        while (!go) std::this_thread::yield();
      });
    while (inside != 20) std::this_thread::yield();
    EXPECT_TRUE(std::ifstream("/proc/self/stat").is_open());
    go = true;
    for (std::thread& thread : threads) thread.join();
    const Json seen = report();
    EXPECT_GT(seen["threads"]["without_counters"], 0);
    EXPECT_GT(row(seen, {"work"})["counted_calls"], 1);
    EXPECT_EQ(row(seen, {"work"})["counted_calls"].get<int>() +
                  seen["threads"]["without_counters"].get<int>(),
              21);
    EXPECT_THAT(seen["threads"]["reason"].get<std::string>(), HasSubstr("ulimit -n"));
  });
}

TEST(RegionEvents, CountersAreClosedWhenTheirThreadEnds) {
  in_child([] {
    const auto descriptors = [] {
      const std::filesystem::directory_iterator files("/proc/self/fd");
      return std::distance(begin(files), end(files));
    };
    ASSERT_EQ(start_regions("page-faults,task-clock"), "");
    pass("main");
    const auto before = descriptors();
    for (int i = 0; i < 5; ++i) std::thread([] { pass("other"); }).join();
    EXPECT_EQ(descriptors(), before);
  });
}

TEST(RegionEvents, AMisspeltEventIsRefusedWithTheNearest) {
  in_child([] {
    EXPECT_THAT(start_regions("page-fault"), HasSubstr("page-faults"));
    EXPECT_EQ(start_regions(""), "") << "a refused start changes nothing";
    EXPECT_THAT(start_regions("page-faults"), HasSubstr("already"));
  });
}

TEST(RegionEvents, TheEnvironmentChoosesAndItsErrorsAreReported) {
  in_child([] {
    setenv("HWPROF_EVENTS", "task-clock", 1);
    pass("work");
    EXPECT_EQ(report()["events"][0]["name"], "task-clock");
  });
  in_child([] {
    setenv("HWPROF_EVENTS", "task-clok", 1);
    pass("work");
    EXPECT_TRUE(report()["events"].empty());
    EXPECT_EQ(row(report(), {"work"})["calls"], 1);
    EXPECT_THAT(report()["notes"].dump(), HasSubstr("task-clock"));
  });
}

TEST(RegionEvents, WhatCannotBeWrittenIsNamed) {
  in_child([] {
    const char* problem = hwprof_write("/nonexistent/report.json", HWPROF_JSON);
    ASSERT_NE(problem, nullptr);
    EXPECT_THAT(problem, HasSubstr("/nonexistent/report.json"));
  });
}

}  // namespace
}  // namespace hwprof
