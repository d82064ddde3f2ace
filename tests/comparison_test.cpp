#include "src/measure/comparison.h"

#include <gtest/gtest.h>

#include <random>

namespace hwprof {
namespace {

constexpr double kThreshold = 0.05;

// `count` times around `ns`, 1 % apart, under a peak of `gflops`.
TimeSample sample(double ns, std::size_t count = 20, double gflops = 100, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(1, 0.01);
  TimeSample out;
  for (std::size_t i = 0; i < count; ++i) {
    out.ns.push_back(ns * noise(random));
    out.peak_gflops.push_back(gflops * noise(random));
  }
  out.median_ns = median(out.ns);
  return out;
}

RowChange compare(const TimeSample& a, const TimeSample& b, bool same_peak = true) {
  return compare_rows({{a, b, same_peak}}, kThreshold).front();
}

TEST(Comparison, TwiceTheTimeIsSlowerAndHalfIsFaster) {
  const RowChange change = compare(sample(1000), sample(2000, 20, 100, 2));
  EXPECT_EQ(change.change, Change::kSlower);
  EXPECT_NEAR(*change.ratio, 2, 0.03);
  EXPECT_LE(change.interval->low, *change.ratio);
  EXPECT_GE(change.interval->high, *change.ratio);
  EXPECT_LT(*change.p_holm, 1e-6);
  EXPECT_EQ(compare(sample(2000), sample(1000)).change, Change::kFaster);
}

TEST(Comparison, EqualSamplesAreTheSame) {
  EXPECT_EQ(compare(sample(1000), sample(1000, 20, 100, 2)).change, Change::kSame);
}

// 2 % of 20 slices with 1 % noise each is significant, and below the threshold all the same.
TEST(Comparison, SignificantButWithinTheThresholdIsTheSame) {
  const RowChange change = compare(sample(1000), sample(1020, 20, 100, 2));
  EXPECT_LT(*change.p_holm, kSignificance);
  EXPECT_EQ(change.change, Change::kSame);
}

// The clock fell by a fifth: the time rose by as much, and the fraction of the peak is what it was.
TEST(Comparison, AnotherClockIsNotAnotherSpeed) {
  const RowChange change = compare(sample(1000), sample(1250, 20, 80, 2));
  EXPECT_EQ(change.change, Change::kClock);
  EXPECT_NEAR(change.beside_peak->ratio, 1, 0.02);
  EXPECT_EQ(compare(sample(1000), sample(800, 20, 125, 2)).change, Change::kClock);
}

TEST(Comparison, PeaksOfDifferentMachinesAreNotHeldAgainstEachOther) {
  const RowChange change = compare(sample(1000), sample(1250, 20, 80, 2), false);
  EXPECT_EQ(change.change, Change::kSlower);
  EXPECT_FALSE(change.beside_peak);
}

TEST(Comparison, TooFewSamplesAreNotComparable) {
  const RowChange change = compare(sample(1000, 3), sample(2000, 3));
  EXPECT_EQ(change.change, Change::kNotComparable);
  EXPECT_NE(change.reason.find("too few samples"), std::string::npos);
  EXPECT_NEAR(*change.ratio, 2, 0.05) << "the ratio is still worth showing";
}

// Six and six can reach p = 2/924: enough for 20 rows, not for 30.
TEST(Comparison, ManyRowsNeedMoreSamples) {
  const SamplePair pair{sample(1000, 6), sample(2000, 6, 100, 2), true};
  for (const RowChange& change : compare_rows(std::vector(20, pair), kThreshold))
    EXPECT_EQ(change.change, Change::kSlower);
  for (const RowChange& change : compare_rows(std::vector(30, pair), kThreshold))
    EXPECT_EQ(change.change, Change::kNotComparable);
}

TEST(Comparison, WithoutRawTimesThereIsARatioAndNoVerdict) {
  TimeSample only_median;
  only_median.median_ns = 2000;
  const RowChange change = compare(sample(1000), only_median);
  EXPECT_EQ(change.change, Change::kNotComparable);
  EXPECT_NEAR(*change.ratio, 2, 0.03);
  EXPECT_FALSE(compare(sample(1000), {}).ratio) << "not measured at all";
}

// 50 rows without a difference: with 5 % each, two or three would be found without correction and
// threshold.
TEST(Comparison, NoDifferenceIsFoundWhereThereIsNone) {
  std::vector<SamplePair> rows;
  for (unsigned i = 0; i < 50; ++i)
    rows.push_back({sample(1000, 20, 100, 2 * i), sample(1000, 20, 100, 2 * i + 1), true});
  for (const RowChange& change : compare_rows(rows, kThreshold))
    EXPECT_EQ(change.change, Change::kSame);
}

TEST(Comparison, ExchangingTheFilesMirrorsTheVerdict) {
  const TimeSample a = sample(1000), b = sample(1080, 20, 100, 2);
  EXPECT_EQ(compare(a, b).change, Change::kSlower);
  EXPECT_EQ(compare(b, a).change, Change::kFaster);
}

}  // namespace
}  // namespace hwprof
