#include "counters/machine/affinity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace hwprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Affinity, ListsAreSortedAndEachCpuStandsOnce) {
  EXPECT_THAT(*parse_cpu_list("0,2-3"), ElementsAre(0, 2, 3));
  EXPECT_THAT(*parse_cpu_list("3,1,2-3,1"), ElementsAre(1, 2, 3));
  EXPECT_THAT(*parse_cpu_list("7"), ElementsAre(7));
}

TEST(Affinity, WhatIsNotAListIsAUsageError) {
  for (const char* text : {"", ",", "0,", "a", "1-", "-1", "3-1", "0-4294967295", "99999", "0 1",
                           "0x1g", "1--2", "18446744073709551616"}) {
    const auto list = parse_cpu_list(text);
    ASSERT_FALSE(list.has_value()) << text;
    EXPECT_EQ(list.error().fault, Fault::kUsage) << text;
    EXPECT_THAT(list.error().what, HasSubstr(text)) << text;
  }
}

TEST(Affinity, FormatFoldsRanges) {
  EXPECT_EQ(format_cpu_list({0, 2, 3}), "0,2-3");
  EXPECT_EQ(format_cpu_list({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
  EXPECT_EQ(format_cpu_list({}), "");
}

TEST(Affinity, FormatAndParseAreInverse) {
  const CpuList cpus = {1, 2, 3, 9, 64, 65, 4000};
  EXPECT_EQ(*parse_cpu_list(format_cpu_list(cpus)), cpus);
}

// In a thread of its own: pinning must not outlive the test.
template <class Work>
void in_thread(Work work) {
  std::thread(work).join();
}

TEST(Affinity, PinningMovesTheThreadAndItsChildren) {
  const CpuList allowed = allowed_cpus();
  ASSERT_FALSE(allowed.empty());
  for (unsigned cpu : {allowed.front(), allowed.back()})
    in_thread([cpu] {
      const auto pinned = pin_to({cpu});
      ASSERT_TRUE(pinned.has_value()) << pinned.error().what;
      EXPECT_EQ(current_cpu(), cpu);
      EXPECT_THAT(allowed_cpus(), ElementsAre(cpu));
      std::thread([cpu] { EXPECT_EQ(current_cpu(), cpu); }).join();
    });
}

TEST(Affinity, ACpuThatDoesNotExistIsNamed) {
  in_thread([] {
    const CpuList before = allowed_cpus();
    const auto pinned = pin_to({before.front(), 8000});
    ASSERT_FALSE(pinned.has_value());
    EXPECT_EQ(pinned.error().fault, Fault::kUsage);
    EXPECT_THAT(pinned.error().what, HasSubstr("CPU 8000 does not exist"));
    EXPECT_FALSE(pinned.error().hint.empty());
    EXPECT_EQ(allowed_cpus(), before) << "a refused pin must change nothing";
  });
}

TEST(Affinity, AnEmptyListIsRefused) { EXPECT_FALSE(pin_to({}).has_value()); }

}  // namespace
}  // namespace hwprof
