// What a user may count: kernel.perf_event_paranoid, seccomp filters, the descriptor limit.
// A Debian kernel adds the levels 3 and 4, which keep ordinary users from everything.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/hardware/guest.h"

namespace hwprof {
namespace {

using guest::count;
using guest::count_one;
using guest::expect_counted;
using guest::expect_refused;
using guest::in_child;

constexpr int kCalls = 1'000;

// 1,000 system calls: some 10 instructions each for the user, hundreds for the kernel.
void work() {
  for (int i = 0; i < kCalls; ++i) syscall(SYS_getppid);
}

constexpr double kMostUserInstructions = 40.0 * kCalls, kLeastWithKernel = 100.0 * kCalls;

void expect_with_kernel(const EventCount& event) {
  expect_counted(event);
  EXPECT_GT(event.value.value_or(-1), kLeastWithKernel) << "the kernel's share is missing";
}

void expect_user_only(const EventCount& event) {
  expect_counted(event);
  EXPECT_LT(event.value.value_or(1e9), kMostUserInstructions) << "the kernel's share is in it";
  EXPECT_FALSE(event.reason.empty()) << "nothing says that the kernel's share is missing";
}

class Access : public testing::TestWithParam<int> {};

TEST_P(Access, RootCountsAtAnyLevel) {
  guest::set_paranoid(GetParam());
  expect_with_kernel(count_one("instructions", work));
  expect_counted(count_one("task-clock", work));
}

TEST_P(Access, AnOrdinaryUserCountsWhatTheLevelAllows) {
  const int level = GetParam();
  guest::set_paranoid(level);
  in_child([&] {
    guest::become_user();
    const EventCount event = count_one("instructions", work);
    if (level >= 3) {
      const std::string found = fmt::format("perf_event_paranoid is {}", level);
      expect_refused(event, CountStatus::kDenied, found);
      EXPECT_THAT(event.reason, testing::HasSubstr("sysctl"));
      expect_refused(count_one("task-clock", work), CountStatus::kDenied, found);
    } else if (level == 2) {
      expect_user_only(event);
      expect_refused(count_one("context-switches", work), CountStatus::kDenied, "kernel");
    } else {
      expect_with_kernel(event);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Level, Access, testing::Values(4, 3, 2, 1, 0, -1),
                         [](const testing::TestParamInfo<int>& level) {
                           return level.param < 0 ? std::string("Minus1")
                                                  : std::to_string(level.param);
                         });

// As a container's profile does: perf_event_open fails with `code`, the rest works.
void refuse_perf_event_open(int code) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(code)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{std::size(program), program};
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

TEST(Seccomp, ARefusalIsDeniedAndNamesSeccomp) {
  guest::set_paranoid(2);
  for (const int code : {EPERM, EACCES, ENOSYS}) {
    in_child([&] {
      refuse_perf_event_open(code);
      for (const EventCount& event : count({"cycles", "instructions", "task-clock"}, work))
        expect_refused(event, CountStatus::kDenied, "seccomp");
    });
  }
}

TEST(Descriptors, WhatTheLimitForbidsIsDeniedAndNamesTheLimit) {
  constexpr rlim_t kLimit = 16;
  in_child([&] {
    const rlimit limit{kLimit, kLimit};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    std::vector<std::string> names = {"cycles", "instructions"};
    for (int i = 1; i <= 10; ++i) names.push_back(fmt::format("r{}0008", i));
    std::size_t denied = 0;
    for (const EventCount& event : count(names, work)) {
      if (event.status == CountStatus::kOk) {
        expect_counted(event);
        continue;
      }
      expect_refused(event, CountStatus::kDenied, "file descriptor");
      EXPECT_THAT(event.reason, testing::HasSubstr("ulimit -n"));
      ++denied;
    }
    EXPECT_GT(denied, 0U);
    // Few events fit.
    for (const EventCount& event : count({"cycles", "instructions"}, work)) expect_counted(event);
  });
}

}  // namespace
}  // namespace hwprof
