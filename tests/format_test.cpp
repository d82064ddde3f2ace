#include "src/base/format.h"

#include <gtest/gtest.h>

#include <limits>

namespace hwprof::report {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Format, SignificantDigitsNeedNoExponent) {
  EXPECT_EQ(significant(0, 3), "0.00");
  EXPECT_EQ(significant(265.07, 3), "265");
  EXPECT_EQ(significant(1.2345, 3), "1.23");
  EXPECT_EQ(significant(0.012345, 3), "0.0123");
  EXPECT_EQ(significant(-1.2345, 2), "-1.2");
}

TEST(Format, RoundingToTheNextPowerOfTenDropsADecimal) {
  EXPECT_EQ(significant(9.996, 3), "10.0");
  EXPECT_EQ(significant(99.96, 3), "100");
  EXPECT_EQ(si(999.6e6, "FLOP/s"), "1.00 GFLOP/s");
  EXPECT_EQ(duration(999999), "1.00 ms");
}

TEST(Format, SiPrefixesArePowersOf1000) {
  EXPECT_EQ(si(12.34e9, "FLOP/s"), "12.3 GFLOP/s");
  EXPECT_EQ(si(999, ""), "999");
  EXPECT_EQ(si(1000, ""), "1.00 k");
  EXPECT_EQ(si(0, ""), "0");
  EXPECT_EQ(si(0.542, ""), "0.542");
  EXPECT_EQ(si(4e18, ""), "4000 P");
}

TEST(Format, DurationsTakeTheUnitThatFits) {
  EXPECT_EQ(duration(0.5), "0.500 ns");
  EXPECT_EQ(duration(1234), "1.23 µs");
  EXPECT_EQ(duration(1.234e6), "1.23 ms");
  EXPECT_EQ(duration(61.5e9), "61.5 s");
}

TEST(Format, BytesArePowersOf1024) {
  EXPECT_EQ(binary_bytes(512), "512 B");
  EXPECT_EQ(binary_bytes(48 << 10), "48 KiB");
  EXPECT_EQ(binary_bytes(1.5 * (1 << 20)), "1.50 MiB");
  EXPECT_EQ(binary_bytes(1023), "1023 B");
}

TEST(Format, ValueHasAsManyDecimalsAsItsInterval) {
  EXPECT_EQ(with_interval(62.1234, 61.7, 62.5), "62.1 ±0.5");
  EXPECT_EQ(with_interval(1.8342, 1.821, 1.850), "1.834 ±0.016");
  EXPECT_EQ(with_interval(152.1, 118, 160), "152 ±35");
  EXPECT_EQ(duration_with_interval(1.8342e6, 1.821e6, 1.850e6), "1.834 ±0.016 ms");
}

TEST(Format, AnAsymmetricIntervalShowsItsLongerSide) {
  EXPECT_EQ(with_interval(10, 9.6, 10.1), "10.0 ±0.4");
  EXPECT_EQ(with_interval(10, 9.9, 10.4), "10.0 ±0.4");
}

TEST(Format, IntervalsAreRoundedUpAndNeverToZero) {
  EXPECT_EQ(with_interval(10, 9.59, 10), "10.0 ±0.5");
  EXPECT_EQ(with_interval(1.8342, 1.8342, 1.8342001), "1.8342 ±0.0001");
}

TEST(Format, NumbersThatAreNotFiniteAreAbsent) {
  for (const double value : {kNan, kInfinity, -kInfinity}) {
    EXPECT_EQ(significant(value, 3), "-");
    EXPECT_EQ(si(value, "B"), "-");
    EXPECT_EQ(duration(value), "-");
    EXPECT_EQ(binary_bytes(value), "-");
    EXPECT_EQ(percent(value), "-");
    EXPECT_EQ(scientific(value), "-");
    EXPECT_EQ(with_interval(value, 1, 2), "-");
    EXPECT_EQ(duration_with_interval(value, 1, 2), "-");
    EXPECT_EQ(with_interval(1.5, value, 2), "1.50");
  }
}

TEST(Format, OneThingIsSingular) {
  EXPECT_EQ(counted(0, "CPU"), "0 CPUs");
  EXPECT_EQ(counted(1, "CPU"), "1 CPU");
  EXPECT_EQ(counted(2, "CPU"), "2 CPUs");
}

}  // namespace
}  // namespace hwprof::report
