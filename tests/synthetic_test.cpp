#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "src/workloads/inputs/documents.h"
#include "src/workloads/inputs/random.h"

namespace hwprof {
namespace {

using ::testing::ElementsAre;

std::vector<std::size_t> lengths_of(const DocumentSet& set) {
  std::vector<std::size_t> lengths(set.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = set.length(i);
  return lengths;
}

TEST(Synthetic, MeanLengthIsThatOfRcv1ForEverySeedAndBatch) {
  for (const std::size_t documents : {1U, 2U, 7U, 64U, 1000U}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto set = synthetic_documents({.documents = documents, .seed = seed});
      ASSERT_EQ(set.size(), documents);
      const double mean = static_cast<double>(set.words.size()) / static_cast<double>(documents);
      EXPECT_NEAR(mean, 123.9, 0.5 / static_cast<double>(documents) + 1e-9);
    }
  }
}

TEST(Synthetic, LengthsSpreadAsALogNormalDistributionDoes) {
  auto lengths = lengths_of(synthetic_documents({.documents = 4000, .seed = 3}));
  std::sort(lengths.begin(), lengths.end());
  EXPECT_GE(lengths.front(), 1U);
  EXPECT_LE(lengths.back(), 500U);
  // Median and quartiles of exp(ln 123.9 - 0.18 + 0.6 z).
  EXPECT_NEAR(static_cast<double>(lengths[1000]), 69.0, 2.0);
  EXPECT_NEAR(static_cast<double>(lengths[2000]), 103.5, 2.0);
  EXPECT_NEAR(static_cast<double>(lengths[3000]), 155.1, 2.0);
}

TEST(Synthetic, SeedDecidesEverything) {
  const auto a = synthetic_documents({.documents = 64, .seed = 1});
  const auto b = synthetic_documents({.documents = 64, .seed = 1});
  const auto c = synthetic_documents({.documents = 64, .seed = 2});
  EXPECT_EQ(a.words, b.words);
  EXPECT_EQ(a.start, b.start);
  EXPECT_NE(lengths_of(a), lengths_of(c));
}

// Computed apart in Python from the description in the header.
TEST(Synthetic, IsTheSameOnEveryPlatform) {
  const auto set = synthetic_documents({.documents = 6, .seed = 42});
  EXPECT_THAT(lengths_of(set), ElementsAre(76U, 42U, 104U, 343U, 126U, 52U));
  EXPECT_EQ(set.vocabulary.word(0), "word23286");
}

TEST(Synthetic, LengthAskedForIsTheLengthOfAll) {
  const auto set = synthetic_documents({.documents = 3, .n = 7, .seed = 0});
  EXPECT_THAT(lengths_of(set), ElementsAre(7U, 7U, 7U));
  EXPECT_EQ(set.source, "synthetic, 7 words each");
}

TEST(SplitMix, GivesThePublishedNumbers) {
  SplitMix64 random(1234567);  // of the author's splitmix64.c
  EXPECT_EQ(random.next(), 6457827717110365317U);
  EXPECT_EQ(random.next(), 3203168211198807973U);
}

TEST(SplitMix, BelowStaysBelowAndReachesAll) {
  SplitMix64 random(1);
  std::vector<int> seen(7);
  for (int i = 0; i < 7000; ++i) ++seen.at(random.below(7));
  for (const int count : seen) EXPECT_NEAR(count, 1000, 150);
}

TEST(SplitMix, BellHasTheDeviationAskedFor) {
  SplitMix64 random(1);
  double sum = 0, squares = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.bell(0.5F);
    EXPECT_LE(std::abs(x), 3.5 * 0.5);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.01);
  EXPECT_NEAR(std::sqrt(squares / kDraws), 0.5, 0.01);
}

}  // namespace
}  // namespace hwprof
