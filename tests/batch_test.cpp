#include "src/workloads/inputs/batch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hwprof {
namespace {

using ::testing::ElementsAre;

// Documents of these lengths; words 0, 1, 2, ... in order.
DocumentSet documents_of(const std::vector<std::size_t>& lengths) {
  DocumentSet set;
  for (const std::size_t length : lengths) {
    for (std::size_t i = 0; i < length; ++i) {
      set.words.push_back(set.vocabulary.intern(fmt::format("w{}", set.words.size())));
    }
    set.start.push_back(set.words.size());
  }
  return set;
}

// The vector of word i is (i + 1, -(i + 1)): never zero.
Embedding embedding_of(const DocumentSet& set) {
  Embedding embedding;
  embedding.d_e = 2;
  embedding.vectors = FloatBuffer::zeros(2 * set.vocabulary.size()).value();
  for (std::size_t i = 0; i < set.vocabulary.size(); ++i) {
    embedding.row.push_back(static_cast<std::uint32_t>(i));
    embedding.vectors[2 * i] = static_cast<float>(i + 1);
    embedding.vectors[2 * i + 1] = -static_cast<float>(i + 1);
  }
  return embedding;
}

Batch batch_of(const std::vector<std::size_t>& lengths, const BatchShape& shape) {
  const DocumentSet set = documents_of(lengths);
  auto batch = build_batch(set, shape, embedding_of(set));
  EXPECT_TRUE(batch.has_value());
  return std::move(*batch);
}

// First component of each row: the number of the word, 0 for padding.
std::vector<float> rows_of(const Batch& batch) {
  std::vector<float> rows;
  for (std::size_t i = 0; i < batch.rows(); ++i) {
    rows.push_back(batch.x[i * batch.d_e]);
    EXPECT_EQ(batch.x[i * batch.d_e + 1], -rows.back());
  }
  return rows;
}

TEST(Batch, OwnLengthsLieOneAfterTheOther) {
  const Batch batch = batch_of({2, 3}, {.filter_sizes = {2}});
  EXPECT_THAT(batch.row_start, ElementsAre(0U, 2U, 5U));
  EXPECT_THAT(rows_of(batch), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(batch.own_length, ElementsAre(2U, 3U));
  EXPECT_EQ(batch.short_documents, 0U);
}

TEST(Batch, ShortDocumentsGetZeroRowsUpToTheLargestFilter) {
  const Batch batch = batch_of({1, 0, 4}, {.filter_sizes = {3, 2}});
  EXPECT_THAT(batch.row_start, ElementsAre(0U, 3U, 6U, 10U));
  EXPECT_THAT(rows_of(batch), ElementsAre(1, 0, 0, 0, 0, 0, 2, 3, 4, 5));
  EXPECT_EQ(batch.short_documents, 2U);
  EXPECT_THAT(batch.own_length, ElementsAre(1U, 0U, 4U));
}

TEST(Batch, PaddingToTheBatchMakesAllAsLongAsTheLongest) {
  const Batch batch = batch_of({1, 3}, {.filter_sizes = {2}, .padding = Padding::kBatch});
  EXPECT_THAT(batch.row_start, ElementsAre(0U, 3U, 6U));
  EXPECT_THAT(rows_of(batch), ElementsAre(1, 0, 0, 2, 3, 4));
}

TEST(Batch, LengthAskedForCutsAndPads) {
  for (const Padding padding : {Padding::kOwn, Padding::kBatch}) {
    const Batch batch = batch_of({1, 4}, {.filter_sizes = {2}, .padding = padding, .n = 3});
    EXPECT_THAT(batch.row_start, ElementsAre(0U, 3U, 6U));
    EXPECT_THAT(rows_of(batch), ElementsAre(1, 0, 0, 2, 3, 4));
    EXPECT_THAT(batch.own_length, ElementsAre(1U, 3U));
  }
}

TEST(Batch, TakesTheFirstDocumentsOrAllThereAre) {
  EXPECT_EQ(batch_of({2, 2, 2}, {.filter_sizes = {2}, .batch = 2}).documents(), 2U);
  EXPECT_EQ(batch_of({2, 2, 2}, {.filter_sizes = {2}, .batch = 5}).documents(), 3U);
  const DocumentSet set = documents_of({2, 3, 4});
  EXPECT_EQ(words_of_batch(set, {.filter_sizes = {2}, .batch = 2}).size(), 5U);
  EXPECT_EQ(words_of_batch(set, {.filter_sizes = {2}, .batch = 5}).size(), 9U);
}

TEST(Batch, LongestOfAnotherBatchDoesNotMatter) {
  const BatchShape shape{.filter_sizes = {2}, .batch = 2, .padding = Padding::kBatch};
  EXPECT_THAT(batch_of({1, 3, 90}, shape).row_start, ElementsAre(0U, 3U, 6U));
}

TEST(PaddingCost, IsOneAtOwnLengthAndCountsPositionsToTheLongest) {
  // k = 2: own 1 + 3 = 4 positions, padded to 4 words 3 + 3 = 6.
  const auto cost = padding_cost(documents_of({2, 4}), {.filter_sizes = {2}});
  EXPECT_DOUBLE_EQ(cost.as_laid_out, 1.0);
  EXPECT_DOUBLE_EQ(cost.to_longest, 1.5);
  EXPECT_DOUBLE_EQ(cost.whole_file, 1.5);
}

TEST(PaddingCost, AsLaidOutIsToTheLongestWhenTheBatchIsPadded) {
  const auto cost =
      padding_cost(documents_of({2, 4}), {.filter_sizes = {2}, .padding = Padding::kBatch});
  EXPECT_DOUBLE_EQ(cost.as_laid_out, 1.5);
}

TEST(PaddingCost, DocumentsShorterThanKCountAsK) {
  const auto cost = padding_cost(documents_of({0, 1, 3}), {.filter_sizes = {3}});
  EXPECT_DOUBLE_EQ(cost.as_laid_out, 1.0);
  EXPECT_DOUBLE_EQ(cost.to_longest, 1.0);
}

TEST(PaddingCost, SmallFiltersPayForThePaddingToTheLargest) {
  // One word, filters of 1 and 3: needed 1 + 1 positions; three rows give 3 + 1.
  EXPECT_DOUBLE_EQ(padding_cost(documents_of({1}), {.filter_sizes = {1, 3}}).as_laid_out, 2.0);
}

TEST(PaddingCost, WholeFileIsCountedInBatchesAndTheLastMayBeSmaller) {
  // k = 1, batches {1, 3} {2, 2} {9}: padded 6 + 4 + 9 = 19 of 17.
  const auto cost = padding_cost(documents_of({1, 3, 2, 2, 9}), {.filter_sizes = {1}, .batch = 2});
  EXPECT_DOUBLE_EQ(cost.whole_file, 19.0 / 17.0);
  EXPECT_DOUBLE_EQ(cost.to_longest, 6.0 / 4.0);
}

TEST(PaddingCost, LengthAskedForIsWhatIsExecuted) {
  // k = 1, cut to 3: own 1 + 3 = 4, executed 3 + 3 = 6.
  const auto cost = padding_cost(documents_of({1, 9}), {.filter_sizes = {1}, .n = 3});
  EXPECT_DOUBLE_EQ(cost.as_laid_out, 1.5);
}

}  // namespace
}  // namespace hwprof
