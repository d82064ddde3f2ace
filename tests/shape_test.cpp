#include "src/commands/profile/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace hwprof {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void expect_refused(std::string_view text, const std::string& part) {
  const auto shape = parse_shape(text);
  ASSERT_FALSE(shape.has_value()) << text;
  EXPECT_EQ(shape.error().fault, Fault::kUsage);
  EXPECT_THAT(shape.error().what, HasSubstr(part));
  EXPECT_THAT(shape.error().what, HasSubstr("--shape"));
}

TEST(Shape, DefaultsAreThoseOfTheCostAnalysis) {
  const ShapeOptions shape;
  EXPECT_THAT(shape.filter_sizes, ElementsAre(2U));
  EXPECT_EQ(shape.d_c, 128U);
  EXPECT_EQ(shape.l, 103U);
  EXPECT_EQ(shape.batch, 64U);
  EXPECT_EQ(shape.d_e, std::nullopt);
  EXPECT_EQ(shape.n, std::nullopt);
}

TEST(Shape, EveryKeySetsItsSizeAndNoOther) {
  const auto shape = parse_shape("k=3,d_e=7,d_c=11,n=13,l=17,batch=19");
  ASSERT_TRUE(shape.has_value()) << shape.error().what;
  EXPECT_THAT(shape->filter_sizes, ElementsAre(3U));
  EXPECT_EQ(shape->d_e, 7U);
  EXPECT_EQ(shape->d_c, 11U);
  EXPECT_EQ(shape->n, 13U);
  EXPECT_EQ(shape->l, 17U);
  EXPECT_EQ(shape->batch, 19U);
  const auto one = parse_shape("l=5");
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->l, 5U);
  EXPECT_EQ(one->d_c, 128U);
}

TEST(Shape, FilterSizesKeepTheirOrder) {
  EXPECT_THAT(parse_shape("filter_sizes=2+8+4")->filter_sizes, ElementsAre(2U, 8U, 4U));
  EXPECT_THAT(parse_shape("filter_sizes=3")->filter_sizes, ElementsAre(3U));
}

TEST(Shape, SizesAreWholeNumbersFromOneToWhatBlasTakes) {
  for (const char* key : {"k", "d_e", "d_c", "n", "l", "batch", "filter_sizes"}) {
    for (const char* value : {"0", "-1", "", "x", "1.5", "2147483648", "99999999999999999999"}) {
      expect_refused(std::string(key) + "=" + value, std::string("--shape: ") + key + " takes");
    }
  }
  EXPECT_EQ(parse_shape("l=2147483647")->l, 2147483647U);
}

TEST(Shape, FilterSizesWithAHoleOrARepetitionAreRefused) {
  expect_refused("filter_sizes=2+", "filter_sizes takes");
  expect_refused("filter_sizes=+2", "filter_sizes takes");
  expect_refused("filter_sizes=2++4", "filter_sizes takes");
  expect_refused("filter_sizes=2+0", "filter_sizes takes");
  expect_refused("filter_sizes=2+4+2", "has 2 twice");
}

TEST(Shape, KAndFilterSizesExcludeEachOther) {
  expect_refused("k=2,filter_sizes=2+4", "exclude each other");
  expect_refused("filter_sizes=2,k=2", "exclude each other");
}

TEST(Shape, KeysMayNotRepeat) {
  expect_refused("k=2,k=2", "has k twice");
  expect_refused("d_e=3,l=1,d_e=4", "has d_e twice");
}

TEST(Shape, UnknownKeysGetASuggestionOrTheList) {
  expect_refused("dc=3", "no key 'dc'");
  EXPECT_THAT(parse_shape("dc=3").error().hint, HasSubstr("d_c"));
  EXPECT_THAT(parse_shape("filters=3").error().hint, HasSubstr("filter_sizes"));
  EXPECT_THAT(parse_shape("unlike=3").error().hint, HasSubstr("k, d_e, d_c, n, l, batch"));
}

TEST(Shape, WhatIsNotKeyEqualsSizeIsRefused) {
  for (const char* text : {"", "k", "k=2,", ",k=2", "k=2,,l=3"}) {
    expect_refused(text, "is not KEY=SIZE");
  }
  expect_refused(" k=2", "no key ' k'");
}

TEST(Shape, FiltersFitIntoTheDocuments) {
  EXPECT_TRUE(parse_shape("k=3,n=3").has_value());
  expect_refused("k=4,n=3", "a filter of 4 words");
  expect_refused("n=3,filter_sizes=2+8+4", "a filter of 8 words");
  expect_refused("n=1", "a filter of 2 words");  // the default k
}

TEST(Shape, RowsOfABatchAreWhatBlasTakes) {
  EXPECT_TRUE(parse_shape("batch=1073741823,n=2").has_value());
  expect_refused("batch=1073741824,n=2", "rows");
}

TEST(Memory, IsEnoughOrTheLargestTensorIsNamed) {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  EXPECT_TRUE(check_memory(ShapeOptions{}, kGiB).has_value());
  const struct {
    const char* shape;
    const char* tensor;
  } cases[] = {
      {"batch=10000000", "word vectors"},
      {"d_e=1000000,k=100,n=100,d_c=100000", "filters"},
      {"d_e=1,d_c=1000000,batch=1000", "convolution's output"},
      {"l=1000000000,batch=1", "linear layer [l, d_c]"},
      {"l=1000000000,batch=1000,d_c=1,d_e=1", "linear layer's output"},
      {"k=1000000,batch=10000,d_c=1,d_e=300", "word vectors"},  // padded to k
  };
  for (const auto& one : cases) {
    const auto fits = check_memory(parse_shape(one.shape).value(), kGiB);
    ASSERT_FALSE(fits.has_value()) << one.shape;
    EXPECT_EQ(fits.error().fault, Fault::kUsage);
    EXPECT_THAT(fits.error().what, HasSubstr(one.tensor));
    EXPECT_THAT(fits.error().what, HasSubstr("the machine has 1.0 GiB"));
  }
}

TEST(Memory, BorderIsExact) {
  // One document of 1 word: x 1, filters 3 (as given and packed twice), output 1, linear 1, its
  // output 1, words 4 and bookkeeping 16: 27 floats.
  const ShapeOptions shape = parse_shape("k=1,d_e=1,d_c=1,n=1,l=1,batch=1").value();
  EXPECT_TRUE(check_memory(shape, 108).has_value());
  EXPECT_FALSE(check_memory(shape, 107).has_value());
}

TEST(Memory, LargestSizesDoNotWrapAround) {
  const auto shape = parse_shape("k=2147483647,d_e=2147483647,d_c=2147483647,l=2147483647");
  ASSERT_TRUE(shape.has_value());
  EXPECT_FALSE(check_memory(*shape, UINT64_MAX).has_value());
}

}  // namespace
}  // namespace hwprof
