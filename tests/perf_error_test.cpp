#include "counters/events/perf_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace hwprof {
namespace {

using testing::HasSubstr;

Machine with_pmu() {
  Machine machine;
  machine.pmu.devices = {{"cpu", 4, {}}};
  machine.perf_event_paranoid = 2;
  return machine;
}

Machine without_pmu() {
  Machine machine;
  machine.virtualized = true;
  machine.perf_event_paranoid = 2;
  machine.pmu.reason =
      "this machine exposes no PMU (a virtual machine under KVM); timing and software events "
      "continue";
  return machine;
}

TEST(PerfError, NoSuchEntryWithoutAPmuIsTheMachinesLack) {
  const Refusal refusal = explain_open_failure(without_pmu(), ENOENT, "cycles");
  EXPECT_EQ(refusal.status, CountStatus::kUnsupported);
  EXPECT_THAT(refusal.reason, HasSubstr("no PMU"));
  EXPECT_THAT(refusal.remedy, HasSubstr("-cpu host,pmu=on"));
}

TEST(PerfError, NoSuchEntryWithAPmuIsTheEvents) {
  const Refusal refusal = explain_open_failure(with_pmu(), ENOENT, "ref-cycles");
  EXPECT_EQ(refusal.status, CountStatus::kUnsupported);
  EXPECT_THAT(refusal.reason, HasSubstr("ref-cycles"));
}

TEST(PerfError, PermissionNamesTheLevelFoundAndTheOneNeeded) {
  Machine machine = with_pmu();
  machine.perf_event_paranoid = 3;
  for (int code : {EACCES, EPERM}) {
    const Refusal refusal = explain_open_failure(machine, code, "cycles");
    EXPECT_EQ(refusal.status, CountStatus::kDenied);
    EXPECT_THAT(refusal.reason, HasSubstr("perf_event_paranoid is 3"));
    EXPECT_THAT(refusal.remedy, HasSubstr("perf_event_paranoid=2"));
  }
}

TEST(PerfError, PermissionAtALowLevelIsSeccomp) {
  for (std::optional<int> level : {std::optional<int>(1), std::optional<int>()}) {
    Machine machine = with_pmu();
    machine.perf_event_paranoid = level;
    const Refusal refusal = explain_open_failure(machine, EPERM, "cycles");
    EXPECT_EQ(refusal.status, CountStatus::kDenied);
    EXPECT_THAT(to_text(refusal), HasSubstr("seccomp"));
  }
}

TEST(PerfError, EveryErrnoHasAReason) {
  for (int code : {EINVAL, EOPNOTSUPP, EMFILE, ENFILE, ENOSPC, EBUSY, ENODEV, ESRCH, E2BIG, ENOSYS,
                   ENOMEM, EIO}) {
    const Refusal refusal = explain_open_failure(with_pmu(), code, "cycles");
    EXPECT_FALSE(refusal.reason.empty()) << code;
    EXPECT_NE(refusal.status, CountStatus::kOk) << code;
    EXPECT_NE(refusal.status, CountStatus::kScaled) << code;
  }
  EXPECT_THAT(explain_open_failure(with_pmu(), EMFILE, "x").remedy, HasSubstr("ulimit -n"));
  EXPECT_THAT(explain_open_failure(with_pmu(), ENOSYS, "x").reason, HasSubstr("seccomp"));
}

}  // namespace
}  // namespace hwprof
