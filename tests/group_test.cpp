#include "counters/perf/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cerrno>
#include <filesystem>

namespace hwprof {
namespace {

using testing::ElementsAre;

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

NativeEvent software(std::uint64_t config, const char* text) {
  NativeEvent event;
  event.type = PERF_TYPE_SOFTWARE;
  event.config = config;
  event.text = text;
  return event;
}

TEST(GroupWords, AreTakenByIdentityAndInFull) {
  const std::uint64_t words[] = {2, 100, 90, 7, 11, 8, 12};
  const std::uint64_t ids[] = {11, 12};
  RawReading reading;
  ASSERT_TRUE(parse_group_words(words, ids, reading));
  EXPECT_EQ(reading.time_enabled_ns, 100u);
  EXPECT_EQ(reading.time_running_ns, 90u);
  EXPECT_THAT(reading.values, ElementsAre(7, 8));
}

TEST(GroupWords, OfAnotherGroupAreRefused) {
  const std::uint64_t words[] = {2, 100, 90, 7, 11, 8, 12};
  RawReading reading;
  const std::uint64_t swapped[] = {12, 11}, fewer[] = {11}, more[] = {11, 12, 13};
  EXPECT_FALSE(parse_group_words(words, swapped, reading));
  EXPECT_FALSE(parse_group_words(words, fewer, reading));
  EXPECT_FALSE(parse_group_words(words, more, reading));
  const std::uint64_t miscounted[] = {3, 100, 90, 7, 11, 8, 12};
  EXPECT_FALSE(parse_group_words(miscounted, {swapped, 2}, reading));
  EXPECT_FALSE(parse_group_words({words, 5}, swapped, reading));
}

TEST(Group, CountsOnlyWhileEnabled) {
  const NativeEvent events[] = {software(PERF_COUNT_SW_TASK_CLOCK, "task-clock"),
                                software(PERF_COUNT_SW_PAGE_FAULTS, "page-faults")};
  GroupOptions options;
  auto group = Group::open(events, options);
  if (!group && (group.error().code == EACCES || group.error().code == EPERM)) {
    options.user_only = true;
    group = Group::open(events, options);
  }
  if (!group) GTEST_SKIP() << group.error().what;
  EXPECT_EQ(group->size(), 2u);
  RawReading idle, busy, after;
  ASSERT_TRUE(group->read(idle).has_value());
  EXPECT_EQ(idle.values[0], 0u);
  ASSERT_TRUE(group->enable().has_value());
  volatile int sink = 0;
  for (int i = 0; i < 100000; ++i) sink = sink + i;
  ASSERT_TRUE(group->disable().has_value());
  ASSERT_TRUE(group->read(busy).has_value());
  EXPECT_GT(busy.values[0], 0u);
  EXPECT_EQ(busy.time_enabled_ns, busy.time_running_ns);
  for (int i = 0; i < 100000; ++i) sink = sink + i;
  ASSERT_TRUE(group->read(after).has_value());
  EXPECT_EQ(after.values, busy.values);
}

TEST(Group, ClosesEveryDescriptorEvenAfterAFailure) {
  const auto before = open_descriptors();
  NativeEvent impossible;
  impossible.type = 0x7fffffff;  // no such PMU
  impossible.text = "impossible";
  {
    const NativeEvent events[] = {software(PERF_COUNT_SW_TASK_CLOCK, "task-clock"), impossible};
    const auto group = Group::open(events, {.user_only = true});
    ASSERT_FALSE(group.has_value());
    EXPECT_NE(group.error().code, 0);
    const auto good = Group::open({events, 1}, {.user_only = true});
    if (good) {
      EXPECT_EQ(open_descriptors(), before + 1);
    }
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Group, OfNothingIsRefused) { EXPECT_FALSE(Group::open({}, {}).has_value()); }

TEST(NativeEvent, IdentityIsTheCounterNotItsName) {
  NativeEvent a = software(1, "a"), b = software(1, "b");
  EXPECT_TRUE(a.same_as(b));
  b.exclude_kernel = true;
  EXPECT_FALSE(a.same_as(b));
  EXPECT_FALSE(a.same_as(software(2, "a")));
}

}  // namespace
}  // namespace hwprof
