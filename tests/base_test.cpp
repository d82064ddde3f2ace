// src/base: TRY, files of /proc, times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "src/base/result.h"
#include "src/base/text.h"
#include "src/base/utc.h"

namespace hwprof {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return usage_error(std::to_string(number) + " is odd");
  return number / 2;
}

Result<void> even(int number) {
  TRY(half(number));
  return {};
}

Result<std::string> quarter(int number) {
  TRY(const int first, half(number));
  TRY(auto second, half(first));
  return std::to_string(second);
}

TEST(Try, GoesOnWithTheValue) {
  EXPECT_EQ(*quarter(12), "3");
  EXPECT_TRUE(even(2));
}

TEST(Try, HandsTheErrorOnWhateverTheTypeOfTheValue) {
  EXPECT_EQ(quarter(6).error().what, "3 is odd");
  EXPECT_EQ(quarter(5).error().what, "5 is odd");
  EXPECT_EQ(quarter(5).error().fault, Fault::kUsage);
  EXPECT_EQ(even(7).error().what, "7 is odd");
}

Result<std::unique_ptr<int>> owned(int number) { return std::make_unique<int>(number); }

TEST(Try, MovesOutOfATemporaryAndCopiesWhatHasAName) {
  const auto moved = []() -> Result<int> {
    TRY(auto pointer, owned(4));
    return *pointer;
  };
  EXPECT_EQ(*moved(), 4);
  Result<std::string> named = "a string that is too long to stand in the object itself";
  const auto copied = [&]() -> Result<std::size_t> {
    TRY(auto text, named);
    return text.size();
  };
  EXPECT_EQ(*copied(), named->size());
}

TEST(Try, AssignsToANameThatExistsAndIsOneStatementInItsPlainForm) {
  const auto sum = [](bool twice) -> Result<int> {
    int value = 0;
    TRY(value, half(8));
    if (twice)
      TRY(even(value));
    else
      value = 1;
    // A comma between template arguments is no end of the declaration; a lambda has its own TRY.
    TRY(auto pair, [&]() -> Result<std::pair<int, int>> {
      TRY(auto one, half(value * 2));
      return std::pair<int, int>(one, 1);
    }());
    return pair.first + pair.second;
  };
  EXPECT_EQ(*sum(true), 5);
  EXPECT_EQ(*sum(false), 2);
}

TEST(ShellCommand, QuotesWhatAShellWouldTakeApart) {
  EXPECT_EQ(shell_command({"python3", "train.py", "--lr=0.1"}), "python3 train.py --lr=0.1");
  EXPECT_EQ(shell_command({"sh", "-c", "echo $HOME", ""}), "sh -c 'echo $HOME' ''");
  EXPECT_EQ(shell_command({"it's"}), "'it'\\''s'");
}

TEST(ReadTextFile, IsNothingWhereReadingFails) {
  // Opened, but nothing is mapped at address 0: as when a process ends while it is looked at.
  EXPECT_EQ(read_text_file("/proc/self/mem"), std::nullopt);
  EXPECT_EQ(read_text_file("/proc/self"), std::nullopt);
  EXPECT_EQ(read_text_file("/no/such/file"), std::nullopt);
  EXPECT_EQ(read_text_file("/dev/null"), "");
  EXPECT_TRUE(read_text_file("/proc/self/maps").value_or("").ends_with('\n'));
}

TEST(UtcTime, OffsetsAndFractionsAreOfOneClock) {
  EXPECT_EQ(unix_seconds("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(unix_seconds("2026-11-27T04:00:00Z"), 1795752000);
  for (const char* same : {"2026-11-27T05:00:00+01:00", "2026-11-27T05:00:00+0100",
                           "2026-11-26T22:30:00-05:30", "2026-11-27T04:00:00.000Z"})
    EXPECT_EQ(utc_time(same), utc_time("2026-11-27T04:00:00Z")) << same;
  EXPECT_LT(utc_time("2026-11-27T04:00:00.05Z"), utc_time("2026-11-27T04:00:00.5Z"));
  EXPECT_LT(utc_time("2026-11-27T04:00:00Z"), utc_time("2026-11-27T04:00:00.000001999Z"));
  EXPECT_EQ(unix_seconds("2026-11-27T03:59:59.999+00:00"), 1795751999);
  EXPECT_EQ(unix_seconds("1969-12-31T23:59:59.5Z"), -1);
  EXPECT_EQ(unix_seconds("9999-12-31T23:59:60Z"), 253402300800);
}

TEST(UtcTime, WhatIsNoTimeHasNone) {
  for (const char* bad : {"",
                          "yesterday",
                          "2026-11-27",
                          "2026-11-27T04:00:00",
                          "2026-11-27 04:00:00Z",
                          "2026-02-29T04:00:00Z",
                          "2026-13-01T04:00:00Z",
                          "2026-11-00T04:00:00Z",
                          "2026-11-27T24:00:00Z",
                          "2026-11-27T04:60:00Z",
                          "2026-11-27T04:00:61Z",
                          "2026-11-27T04:00:00.Z",
                          "2026-11-27T04:00:00,5Z",
                          "2026-11-27T04:00:00+1:00",
                          "2026-11-27T04:00:00+24:00",
                          "2026-11-27T04:00:00+01:60",
                          "2026-11-27T04:00:00Z ",
                          "2026-11-27T04:00:00+01:00Z",
                          " 2026-11-27T04:00:00Z",
                          "26-11-27T04:00:00Z",
                          "2026-11-27T04:00:0xZ",
                          "+026-11-27T04:00:00Z",
                          "1795752000"})
    EXPECT_FALSE(utc_time(bad)) << bad;
}

}  // namespace
}  // namespace hwprof
