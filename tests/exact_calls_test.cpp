// What --exact is asked for, and the files that libhwprof-exact leaves: the program may have
// written anything there.
#include "src/blas/exact/exact_calls.h"

#include <gmock/gmock.h>

#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "src/blas/exact/count_file.h"
#include "src/observe/calls/exact_wish.h"

namespace hwprof::blas {
namespace {

using ::testing::HasSubstr;

TEST(ExactWish, NamesACallOrEachOfMany) {
  const auto first = observe::parse_exact_wish("--exact", "cblas_sgemm");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->name, "cblas_sgemm");
  EXPECT_EQ(first->first, 1U);
  EXPECT_EQ(first->every, 0U);
  const auto fifth = observe::parse_exact_wish("--exact", "dgemm_:5");
  ASSERT_TRUE(fifth);
  EXPECT_EQ(fifth->name, "dgemm_");
  EXPECT_EQ(fifth->first, 5U);
  const auto each = observe::parse_exact_wish("--exact", "dgetrf_:/100");
  ASSERT_TRUE(each);
  EXPECT_EQ(each->first, 1U);
  EXPECT_EQ(each->every, 100U);
}

TEST(ExactWish, SaysWhatIsWrong) {
  for (const char* text : {"sgemm_:0", "sgemm_:", "sgemm_:/", "sgemm_:/0", "sgemm_:1x",
                           "sgemm_:99999999999999999999"}) {
    const auto wish = observe::parse_exact_wish("--exact", text);
    ASSERT_FALSE(wish) << text;
    EXPECT_EQ(wish.error().fault, Fault::kUsage);
    EXPECT_THAT(wish.error().what, HasSubstr("says no call"));
  }
  const auto unknown = observe::parse_exact_wish("--exact", "cblas_sgem");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().hint, HasSubstr("cblas_sgemm"));
}

TEST(ExactWish, OfARegionOnlyNumbersStandBehindTheColon) {
  const auto wish = [](std::string_view text) {
    return observe::parse_exact_region("--exact-region", text);
  };
  for (const char* text : {"LINEAR PASS", "a:b", "a::", "std::fill"}) {
    const auto whole = wish(text);
    ASSERT_TRUE(whole) << text;
    EXPECT_EQ(whole->name, text);
    EXPECT_EQ(whole->first, 1U);
    EXPECT_TRUE(whole->of_region);
  }
  const auto fifth = wish("layer:2:5");
  ASSERT_TRUE(fifth);
  EXPECT_EQ(fifth->name, "layer:2");
  EXPECT_EQ(fifth->first, 5U);
  EXPECT_EQ(wish("a:/3")->every, 3U);
  for (const char* text : {"a:0", "a:5x", "a:/", ":2"}) EXPECT_FALSE(wish(text)) << text;
  EXPECT_TRUE(wish(std::string(255, 'x')));
  EXPECT_FALSE(wish(std::string(256, 'x')));
}

template <std::size_t kRoom>
void set(char (&to)[kRoom], const char* text) {
  std::strncpy(to, text, kRoom - 1);
}

// A 4 x 5 x 6 product: 240 FLOP at 256 bit in one file, an addition in code that is in none.
struct File {
  CountHead head;
  std::vector<CountedFile> files{2};
  std::vector<FileBlock> blocks{3};

  File() {
    head.call = 7;
    head.counted = head.has_shape = 1;
    head.shape = {.m = 4, .n = 5, .k = 6, .form = observe::kRowMajor};
    head.files = 2;
    head.blocks = 3;
    set(head.name, "cblas_sgemm");
    set(head.library, "/lib/libblas.so.3");
    set(files[0].path, "/nowhere/libblas.so.3");
    set(files[1].path, "/usr/lib/hwprof/libhwprof-exact.so");
    blocks[0].file = 0;
    blocks[0].counts.instructions = 30;
    blocks[0].counts.flops[1][2] = 240;
    blocks[1].file = 1;
    blocks[1].counts.instructions = 1000;
    blocks[2].counts.instructions = 2;
    blocks[2].counts.flops[1][0] = 1;
  }
  [[nodiscard]] std::string bytes() const {
    std::string all(reinterpret_cast<const char*>(&head), sizeof(head));
    all.append(reinterpret_cast<const char*>(files.data()), files.size() * sizeof(files[0]));
    all.append(reinterpret_cast<const char*>(blocks.data()), blocks.size() * sizeof(blocks[0]));
    return all;
  }
};

TEST(ExactCalls, SumsWhatRanButNotWhatIsOfHwprof) {
  const auto call = parse_exact_call(File().bytes());
  ASSERT_TRUE(call) << call.error().what;
  EXPECT_EQ(call->symbol, "cblas_sgemm");
  EXPECT_EQ(call->call, 7U);
  EXPECT_EQ(call->m, 4U);
  EXPECT_EQ(call->k, 6U);
  EXPECT_EQ(call->form, "row-major");
  EXPECT_EQ(call->model_flops, 240);
  ASSERT_TRUE(call->count);
  EXPECT_EQ(call->count->instructions, 32U);
  EXPECT_EQ(call->count->flops, 241U);
  EXPECT_EQ(call->count->flops_by_width.at("256"), 240U);
  ASSERT_EQ(call->count->by_function.size(), 2U);
  EXPECT_EQ(call->count->by_function[0].library, "/nowhere/libblas.so.3");
  EXPECT_EQ(call->count->by_function[1].library, "");
  EXPECT_DOUBLE_EQ(*call->to_model, 241.0 / 240);
}

TEST(ExactCalls, OfARegionTheProgramDeclaresTheModel) {
  File file;
  file.head.of_region = 1;
  file.head.has_shape = 0;
  set(file.files[1].path, "/usr/lib/libhwprof.so.0.1.0");
  for (const double declared : {120.0, 0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::infinity()}) {
    file.head.declared_flops = declared;
    const auto call = parse_exact_call(file.bytes());
    ASSERT_TRUE(call);
    EXPECT_EQ(call->symbol, "");
    EXPECT_EQ(call->region, "cblas_sgemm");
    EXPECT_EQ(call->count->instructions, 32U);
    EXPECT_EQ(call->model_flops.has_value(), declared == 120.0);
    EXPECT_EQ(call->to_model.has_value(), declared == 120.0);
  }
}

TEST(ExactCalls, AReasonStandsInPlaceOfNumbers) {
  File file;
  file.head.counted = 0;
  set(file.head.reason, "not counted: another thread ran");
  set(file.head.hint, "count on one");
  const auto call = parse_exact_call(file.bytes());
  ASSERT_TRUE(call);
  EXPECT_FALSE(call->count);
  EXPECT_FALSE(call->to_model);
  EXPECT_EQ(call->reason, "not counted: another thread ran; count on one");
}

TEST(ExactCalls, FilesThatLieAreRefused) {
  const auto error = [](const std::string& bytes) {
    const auto call = parse_exact_call(bytes);
    return call ? "" : call.error().what;
  };
  const std::string good = File().bytes();
  EXPECT_EQ(error(""), "it is cut off");
  EXPECT_EQ(error(good.substr(0, good.size() - 1)), "its size is not what it says");
  EXPECT_EQ(error(good + "x"), "its size is not what it says");
  File file;
  file.head.blocks = ~std::uint32_t{0};
  EXPECT_EQ(error(file.bytes()), "its size is not what it says");
  file = File();
  file.head.magic = 1;
  EXPECT_EQ(error(file.bytes()), "it was written by another hwprof");
}

TEST(ExactCalls, ReadNothingBeyondTheirEnd) {
  File file;
  std::memset(file.head.name, 'x', sizeof(file.head.name));
  std::memset(file.files[0].path, 'y', sizeof(file.files[0].path));
  file.blocks[2].file = 77;
  const auto call = parse_exact_call(file.bytes());
  ASSERT_TRUE(call);
  EXPECT_EQ(call->symbol.size(), sizeof(file.head.name));
  EXPECT_FALSE(call->model_flops) << "of no routine";
  std::mt19937 random(3);
  const std::string good = File().bytes();
  for (int i = 0; i < 300; ++i) {
    std::string bytes = good;
    for (int j = 0; j < 8; ++j) bytes[random() % bytes.size()] = static_cast<char>(random());
    static_cast<void>(parse_exact_call(bytes));
  }
}

}  // namespace
}  // namespace hwprof::blas
