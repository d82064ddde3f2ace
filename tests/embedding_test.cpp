#include "src/workloads/inputs/embedding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/temporary_file.h"

namespace hwprof {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class EmbeddingTest : public ::testing::Test {
 protected:
  Result<Embedding> read_text(std::string_view text, std::optional<std::size_t> d_e = {}) {
    const TemporaryFile file(text);
    return read_embedding(file.path(), vocabulary_, used_, d_e);
  }
  void use(std::initializer_list<std::string_view> words) {
    for (const auto word : words) used_.push_back(vocabulary_.intern(word));
  }
  void expect_refused(std::string_view text, const std::string& part,
                      std::optional<std::size_t> d_e = {}) {
    const auto embedding = read_text(text, d_e);
    ASSERT_FALSE(embedding.has_value()) << part;
    EXPECT_EQ(embedding.error().fault, Fault::kUsage);
    EXPECT_THAT(embedding.error().what, HasSubstr(part));
    EXPECT_FALSE(embedding.error().hint.empty());
  }
  std::vector<float> vector_of(const Embedding& embedding, std::string_view word) {
    const float* v = embedding.vector(vocabulary_.intern(word));
    return {v, v + embedding.d_e};
  }

  Vocabulary vocabulary_;
  std::vector<WordId> used_;
};

TEST_F(EmbeddingTest, FileSetsTheDimensionAndGivesTheVectors) {
  use({"the", "cat", "the"});
  const auto embedding = read_text("the 0.25 -1.5 2e-1\ndog 1 2 3\ncat 4 5 6\n");
  ASSERT_TRUE(embedding.has_value()) << embedding.error().what;
  EXPECT_EQ(embedding->d_e, 3U);
  EXPECT_THAT(vector_of(*embedding, "the"), ElementsAre(0.25F, -1.5F, 0.2F));
  EXPECT_THAT(vector_of(*embedding, "cat"), ElementsAre(4, 5, 6));
  EXPECT_EQ(embedding->found, 2U);
  EXPECT_EQ(embedding->hashed, 0U);
  EXPECT_EQ(embedding->vectors.size(), 6U);  // dog is not used
}

TEST_F(EmbeddingTest, WordsThatTheFileLacksAreHashedAsWithoutAFile) {
  use({"the", "qwertz"});
  const auto from_file = read_text("the 1 2 3 4\n");
  const auto by_hash = hash_embedding(vocabulary_, used_, 4);
  ASSERT_TRUE(from_file.has_value());
  ASSERT_TRUE(by_hash.has_value());
  EXPECT_EQ(from_file->found, 1U);
  EXPECT_EQ(from_file->hashed, 1U);
  EXPECT_EQ(by_hash->found, 0U);
  EXPECT_EQ(by_hash->hashed, 2U);
  EXPECT_EQ(vector_of(*from_file, "qwertz"), vector_of(*by_hash, "qwertz"));
  EXPECT_NE(vector_of(*by_hash, "the"), vector_of(*by_hash, "qwertz"));
}

// Computed apart in Python from the description in the header.
TEST_F(EmbeddingTest, HashedVectorsAreTheSameOnEveryPlatform) {
  use({"hwprof"});
  const auto embedding = hash_embedding(vocabulary_, used_, 3);
  ASSERT_TRUE(embedding.has_value());
  EXPECT_THAT(vector_of(*embedding, "hwprof"),
              ElementsAre(-0.17110132F, 0.06928626F, -0.14998983F));
}

TEST_F(EmbeddingTest, WordsThatAreNotUsedHaveNoRow) {
  vocabulary_.intern("unused");
  use({"used"});
  const auto embedding = hash_embedding(vocabulary_, used_, 2);
  ASSERT_TRUE(embedding.has_value());
  EXPECT_THAT(embedding->row, ElementsAre(Embedding::kUnused, 0U));
}

TEST_F(EmbeddingTest, LastLineOfAWordCounts) {
  use({"a"});
  const auto embedding = read_text("a 1 2\na 3 4\n");
  ASSERT_TRUE(embedding.has_value());
  EXPECT_THAT(vector_of(*embedding, "a"), ElementsAre(3, 4));
  EXPECT_EQ(embedding->found, 1U);
}

TEST_F(EmbeddingTest, WordsMayHaveSpacesInThem) {
  use({". . .", "at name@domain.com", "x"});
  const auto embedding = read_text("x 1 2\n. . . 3 4\nat name@domain.com 5 6\n");
  ASSERT_TRUE(embedding.has_value()) << embedding.error().what;
  EXPECT_THAT(vector_of(*embedding, ". . ."), ElementsAre(3, 4));
  EXPECT_THAT(vector_of(*embedding, "at name@domain.com"), ElementsAre(5, 6));
}

TEST_F(EmbeddingTest, LineEndsBlankLinesAndTrailingSpacesDoNotMatter) {
  use({"a", "b"});
  const auto embedding = read_text(
      "\xef\xbb\xbf"
      "a 1 2 \r\n\r\nb 3 4");
  ASSERT_TRUE(embedding.has_value()) << embedding.error().what;
  EXPECT_EQ(embedding->found, 2U);
}

TEST_F(EmbeddingTest, RowsOfAnotherLengthAreRefusedUsedOrNot) {
  use({"a"});
  expect_refused("a 1 2 3\nb 1 2\n", "line 2 of ");
  expect_refused("a 1 2 3\nb 1 2\n", "has 2 values, but the first line has 3");
  expect_refused("a 1 2 3\nb 1 2 3 4\n", "has 4 values, but the first line has 3");
  expect_refused("a 1 2 3\nb\n", "has 0 values");
  expect_refused("a 1 2 3\nb 1  2 3\n", "has 4 values");  // two spaces
}

TEST_F(EmbeddingTest, DimensionMustBeTheOneAskedFor) {
  use({"a"});
  EXPECT_TRUE(read_text("a 1 2 3\n", 3).has_value());
  expect_refused("a 1 2 3\n", "has vectors of 3 values, but d_e is 2", 2);
  expect_refused("a 1 2 3\n", "has vectors of 3 values, but d_e is 300", 300);
}

TEST_F(EmbeddingTest, OnlyFiniteNumbersAreVectors) {
  use({"a"});
  for (const char* value :
       {"x", "nan", "-inf", "1e39", "1e999", "0x10", "1,5", "+1", "--1", "1e"}) {
    expect_refused(std::string("b 1 2\na 1 ") + value + "\n",
                   std::string("\"") + value + "\" is not a finite number");
  }
  expect_refused("b 1 2\na x 1\n", "line 2 of ");
}

TEST_F(EmbeddingTest, NumbersTooSmallForAFloatAreZero) {
  use({"a"});
  const auto embedding = read_text("a 1e-60 -1e-999 0\n");
  ASSERT_TRUE(embedding.has_value()) << embedding.error().what;
  EXPECT_THAT(vector_of(*embedding, "a"), ElementsAre(0, 0, 0));
}

TEST_F(EmbeddingTest, OtherFormatsAreNamed) {
  use({"a"});
  expect_refused("400000 300\na 1 2\n", "word2vec");
  expect_refused("a\t1\t2\n", "it has no space");
  expect_refused("", "holds no word vector");
  expect_refused("\n\n", "holds no word vector");
  expect_refused(std::string_view("a 1 \0", 5), "NUL byte");
}

TEST_F(EmbeddingTest, WhatIsNotThereIsNamed) {
  const auto embedding = read_embedding("/nonexistent/glove.txt", vocabulary_, used_, {});
  ASSERT_FALSE(embedding.has_value());
  EXPECT_EQ(embedding.error().fault, Fault::kUsage);
  EXPECT_THAT(embedding.error().what, HasSubstr("/nonexistent/glove.txt"));
}

TEST_F(EmbeddingTest, MemoryThatCannotBeHadIsAnErrorNotAnAbort) {
  use({"a", "b", "c"});
  for (const std::size_t d_e : {std::size_t{1} << 50, ~std::size_t{0} / 3 + 1, ~std::size_t{0}}) {
    const auto embedding = hash_embedding(vocabulary_, used_, d_e);
    ASSERT_FALSE(embedding.has_value());
    EXPECT_THAT(embedding.error().what, HasSubstr("cannot allocate"));
    EXPECT_THAT(embedding.error().what, HasSubstr("bytes"));
  }
}

TEST(FloatBuffer, IsAlignedZeroedAndMovedNotCopied) {
  auto buffer = FloatBuffer::zeros(17);
  ASSERT_TRUE(buffer.has_value());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % FloatBuffer::kAlignment, 0U);
  for (const float value : buffer->span()) EXPECT_EQ(value, 0);
  (*buffer)[16] = 5;
  FloatBuffer other = std::move(*buffer);
  EXPECT_EQ(other[16], 5);
  EXPECT_EQ(other.size(), 17U);
  EXPECT_EQ(buffer->size(), 0U);  // NOLINT(bugprone-use-after-move): emptied, by contract
  EXPECT_EQ(FloatBuffer::zeros(0)->size(), 0U);
}

}  // namespace
}  // namespace hwprof
