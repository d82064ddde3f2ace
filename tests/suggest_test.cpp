#include "src/base/suggest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hwprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kWords = {"flops",         "flops-sp", "branches",
                                         "branch-misses", "llc-miss", "l2-miss"};

std::vector<std::string> suggest(std::string_view word) {
  return nearest(word, std::span<const std::string>(kWords));
}

TEST(Suggest, ASwapOfTwoLettersIsOneEdit) {
  EXPECT_EQ(edit_distance("flpos", "flops"), 1u);
  EXPECT_EQ(edit_distance("abc", "cab"), 2u);
}

TEST(Suggest, DistanceOfEqualAndOfEmptyWords) {
  EXPECT_EQ(edit_distance("flops", "FLOPS"), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Suggest, NearestComesFirst) {
  EXPECT_THAT(suggest("l1-miss"), ElementsAre("l2-miss", "llc-miss"));
  EXPECT_EQ(suggest("flopz").front(), "flops");
}

TEST(Suggest, AWordThatContainsWhatWasTypedIsNear) {
  EXPECT_THAT(suggest("misses"), ElementsAre("branch-misses"));
}

// Both may come from a file; to compare them letter by letter would take hours.
TEST(Suggest, LongWordsTakeNoTime) {
  const std::vector<std::string> known = {std::string(1'000'000, 'a'), "flops"};
  const std::span<const std::string> words(known);
  EXPECT_THAT(nearest(std::string(1'000'000, 'b'), words), IsEmpty());
  EXPECT_THAT(nearest("flopz", words), ElementsAre("flops"));
}

TEST(Suggest, NothingNearGivesNothing) {
  EXPECT_THAT(suggest("zzzzzz"), IsEmpty());
  EXPECT_THAT(suggest(""), IsEmpty());
}

TEST(Suggest, AtMostThreeAndEachOnce) {
  const std::vector<std::string_view> same = {"aab", "aac", "aad", "aae", "aab"};
  EXPECT_THAT(nearest("aaa", std::span<const std::string_view>(same)),
              ElementsAre("aab", "aac", "aad"));
}

TEST(Suggest, QuestionReadsAsASentence) {
  EXPECT_EQ(did_you_mean({}), "");
  EXPECT_EQ(did_you_mean({"a"}), "did you mean a?");
  EXPECT_EQ(did_you_mean({"a", "b", "c"}), "did you mean a, b or c?");
}

}  // namespace
}  // namespace hwprof
