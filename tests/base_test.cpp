// src/base: TRY, files of /proc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "src/base/result.h"
#include "src/base/text.h"

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

}  // namespace
}  // namespace hwprof
