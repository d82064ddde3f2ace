#include "src/cli/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace hwprof::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Values, ListsSplitAtCommasAndHoldEachNameOnce) {
  EXPECT_THAT(parse_list("--variant", "simd").value(), ElementsAre("simd"));
  EXPECT_THAT(parse_list("--variant", "b,a,b").value(), ElementsAre("b", "a"));
}

TEST(Values, ListsHaveNoEmptyNames) {
  for (const char* text : {"", ",", "a,", ",a", "a,,b", "a, ,b"}) {
    const auto list = parse_list("--variant", text);
    ASSERT_FALSE(list.has_value()) << text;
    EXPECT_EQ(list.error().fault, Fault::kUsage);
    EXPECT_THAT(list.error().what, HasSubstr("--variant"));
  }
}

TEST(Values, EventsMayHoldCommasBetweenSlashes) {
  EXPECT_THAT(parse_events("--events", "flops,cpu/event=0xc2,umask=0x1/,r01c2").value(),
              ElementsAre("flops", "cpu/event=0xc2,umask=0x1/", "r01c2"));
  EXPECT_THAT(parse_events("--events", "cpu/a,b/u,cpu_atom/c,d/").value(),
              ElementsAre("cpu/a,b/u", "cpu_atom/c,d/"));
}

TEST(Values, EventsWithOneSlashAreRefused) {
  const auto events = parse_events("--events", "flops,cpu/event=0xc2,umask=0x1");
  ASSERT_FALSE(events.has_value());
  EXPECT_THAT(events.error().what, HasSubstr("'cpu/event=0xc2,umask=0x1'"));
}

TEST(Values, WholeNumbersAreDigitsInTheirRange) {
  EXPECT_EQ(parse_whole("--seed", "0", 0, UINT64_MAX).value(), 0U);
  EXPECT_EQ(parse_whole("--seed", "18446744073709551615", 0, UINT64_MAX).value(), UINT64_MAX);
  EXPECT_EQ(parse_whole("--threads", "8", 1, 8).value(), 8U);
  for (const char* text :
       {"", "0", "9", "-1", "+1", " 1", "1 ", "1.0", "1e0", "0x1", "one", "18446744073709551616"}) {
    const auto number = parse_whole("--threads", text, 1, 8);
    ASSERT_FALSE(number.has_value()) << text;
    EXPECT_THAT(number.error().what, HasSubstr("--threads takes a whole number from 1 to 8"));
  }
}

TEST(Values, SecondsMayHaveAUnit) {
  EXPECT_EQ(parse_seconds("--time-budget", "1.5s", 100).value(), 1.5);
  EXPECT_EQ(parse_seconds("--time-budget", "250ms", 100).value(), 0.25);
  EXPECT_EQ(parse_seconds("--time-budget", "1min", 100).value(), 60);
  EXPECT_FALSE(parse_seconds("--time-budget", "2min", 100).has_value());
}

TEST(Values, SharesAreInPercentAboveOne) {
  for (const char* text : {"5%", "5", "0.05"})
    EXPECT_DOUBLE_EQ(parse_share("--threshold", text).value(), 0.05) << text;
  for (const char* text : {"", "%", "five", "-1%", "101", "101%", "nan", "5%%", "1e9%"})
    EXPECT_FALSE(parse_share("--threshold", text).has_value()) << text;
}

TEST(Values, SecondsAreFiniteAndAboveZero) {
  EXPECT_EQ(parse_seconds("--time-budget", "0.25", 100).value(), 0.25);
  EXPECT_EQ(parse_seconds("--time-budget", "1e2", 100).value(), 100);
  for (const char* text : {"", "0", "-0", "-1", "nan", "inf", "101", "1e999", "1h", "1,5", "s"}) {
    EXPECT_FALSE(parse_seconds("--time-budget", text, 100).has_value()) << text;
  }
}

constexpr Choice<int> kColours[] = {{"red", 1}, {"green", 2}};

TEST(Values, ChoicesAreNamesOfTheTable) {
  EXPECT_EQ(parse_choice("--colour", "green", kColours).value(), 2);
  const auto choice = parse_choice("--colour", "gren", kColours);
  ASSERT_FALSE(choice.has_value());
  EXPECT_EQ(choice.error().what, "--colour takes red, green, not 'gren'");
  EXPECT_THAT(choice.error().hint, HasSubstr("green"));
}

}  // namespace
}  // namespace hwprof::cli
