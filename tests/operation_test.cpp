#include "src/workloads/operations/operation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "kernels/registry.h"
#include "src/workloads/operations/operation_build.h"

namespace hwprof {
namespace {

using testing::HasSubstr;

const BlasLibrary* blas() {
  static const Result<BlasLibrary> library = BlasLibrary::load("");
  return library ? &*library : nullptr;
}

ThreadTeam& team() {
  static ThreadTeam threads(2, {});
  return threads;
}

Result<Operation> create(const OperationSpec& spec) {
  return Operation::create(spec, {}, blas(), "no BLAS here", team());
}

Error refusal(const OperationSpec& spec) {
  const Result<Operation> made = create(spec);
  EXPECT_FALSE(made.has_value()) << spec.op;
  return made ? Error{} : made.error();
}

// The error of every variant, after its run; a variant without a BLAS has its reason.
void expect_right(const std::string& op, const Sizes& sizes) {
  for (const std::string_view variant : find_operation(op)->variants()) {
    const Result<Operation> made = create({op, std::string(variant), sizes, 7});
    ASSERT_TRUE(made.has_value()) << made.error().what;
    const Task& task = made->task();
    EXPECT_EQ(task.op, op);
    EXPECT_EQ(task.variant, variant);
    if (!task.run) {
      EXPECT_EQ(task.reason, "no BLAS here");
      continue;
    }
    task.run();
    EXPECT_LT(task.check(), 1e-5) << op << " " << variant;
    EXPECT_FALSE(made->output().empty());
  }
}

TEST(Operation, EveryVariantOfEveryOperationIsRightAtItsStandardSizes) {
  for (const OperationKind& kind : operation_kinds()) expect_right(std::string(kind.name), {});
}

TEST(Operation, EveryVariantOfEveryOperationIsRightAtOddSizes) {
  expect_right("conv1d", {{"k", 3}, {"d_e", 7}, {"d_c", 17}, {"n", 3}, {"batch", 5}});
  expect_right("conv1d-maxpool", {{"k", 3}, {"d_e", 7}, {"d_c", 17}, {"n", 11}, {"batch", 5}});
  expect_right("maxpool", {{"k", 5}, {"d_c", 19}, {"n", 9}, {"batch", 3}});
  expect_right("linear", {{"d_c", 5}, {"l", 23}, {"batch", 7}});
  const Sizes image = {{"height", 5}, {"width", 9},  {"c_in", 3}, {"c_out", 21},
                       {"kernel", 5}, {"stride", 2}, {"batch", 3}};
  expect_right("conv2d", image);
  for (const std::uint64_t relu : {0, 1}) {
    for (const std::uint64_t add : {0, 1}) {
      Sizes sizes = image;
      sizes.emplace_back("relu", relu);
      sizes.emplace_back("add", add);
      expect_right("conv2d-bn-relu", sizes);
    }
  }
  expect_right("batchnorm", {{"pixels", 7}, {"channels", 19}, {"batch", 2}});
  expect_right("average-pool", {{"pixels", 7}, {"channels", 19}, {"batch", 2}});
  expect_right("relu", {{"count", 37}});
  expect_right("add", {{"count", 37}});
  expect_right("softmax", {{"l", 11}, {"batch", 3}});
  expect_right("reshape", {{"count", 37}});
}

TEST(Operation, AChainReadsWhatItsInputsWrote) {
  const Result<Operation> relu = create({"relu", "simd", {{"count", 64}}, 1});
  ASSERT_TRUE(relu.has_value());
  relu->task().run();
  const std::span<const float> both[] = {relu->output(), relu->output()};
  const Result<Operation> sum =
      Operation::create({"add", "simd", {{"count", 64}}, 2}, both, nullptr, "", team());
  ASSERT_TRUE(sum.has_value());
  sum->task().run();
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(sum->output()[i], 2 * relu->output()[i]);
  const Result<Operation> view =
      Operation::create({"reshape", "view", {{"count", 64}}}, both, nullptr, "", team());
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->output().data(), relu->output().data());
  EXPECT_EQ(view->task().cost.bytes, 0);
}

TEST(Operation, MergedWeightsAreThoseOfTheLayersApart) {
  const Sizes image = {{"height", 6}, {"width", 6}, {"c_in", 3}, {"c_out", 8}};
  std::vector<float> x(6 * 6 * 3);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) - 6;
  const std::span<const float> input[] = {x};
  const auto conv =
      Operation::create({"conv2d", "reference", image, 4}, input, nullptr, "", team());
  ASSERT_TRUE(conv.has_value());
  conv->task().run();
  const std::span<const float> map[] = {conv->output()};
  const auto normal = Operation::create(
      {"batchnorm", "reference", {{"pixels", 36}, {"channels", 8}}, 5}, map, nullptr, "", team());
  ASSERT_TRUE(normal.has_value());
  normal->task().run();
  Sizes merged = image;
  merged.emplace_back("relu", 0);
  const auto one =
      Operation::create({"conv2d-bn-relu", "fused", merged, 4, 5}, input, nullptr, "", team());
  ASSERT_TRUE(one.has_value());
  one->task().run();
  for (std::size_t i = 0; i < one->output().size(); ++i) {
    EXPECT_NEAR(one->output()[i], normal->output()[i], 1e-4);
  }
}

TEST(Operation, TheSameSeedGivesTheSameResultAndAnotherDoesNot) {
  const auto first = [](std::uint64_t seed) {
    const Result<Operation> made = create({"linear", "reference", {}, seed});
    made->task().run();
    return made->output()[0];
  };
  EXPECT_EQ(first(3), first(3));
  EXPECT_NE(first(3), first(4));
}

TEST(Operation, SizesComeInTheOrderOfTheKindWithTheirStandard) {
  const Result<Sizes> sizes = complete_sizes({"linear", "simd", {{"l", 5}}});
  ASSERT_TRUE(sizes.has_value());
  EXPECT_EQ(*sizes, (Sizes{{"d_c", 128}, {"l", 5}, {"batch", 64}}));
}

TEST(Operation, WhatIsWrongIsNamed) {
  EXPECT_EQ(refusal({"conv3d", "simd"}).what, "unknown operation 'conv3d'");
  EXPECT_THAT(refusal({"conv3d", "simd"}).hint, HasSubstr("conv2d"));
  EXPECT_EQ(refusal({"linear", "smid"}).what, "unknown variant of linear 'smid'");
  EXPECT_EQ(refusal({"linear", "smid"}).hint, "did you mean simd?");
  EXPECT_EQ(refusal({"linear", "simd", {{"d_e", 3}}}).what, "unknown size of linear 'd_e'");
  EXPECT_EQ(refusal({"linear", "simd", {{"l", 0}}}).what, "linear: l=0 is out of range");
  EXPECT_EQ(refusal({"conv1d", "simd", {{"k", 9}, {"n", 8}}}).what, "conv1d: k=9 is more than n=8");
  EXPECT_EQ(refusal({"conv2d", "simd", {{"kernel", 4}}}).what, "conv2d: kernel=4 is even");
  EXPECT_EQ(refusal({"conv2d-bn-relu", "fused", {{"relu", 2}}}).what,
            "conv2d-bn-relu: relu=2 is out of range");
  EXPECT_EQ(refusal({"linear", "simd", {{"l", 0}}}).fault, Fault::kUsage);
}

TEST(Operation, MoreMemoryThanThereIsIsRefusedBeforeItIsTaken) {
  const std::uint64_t most = SizeParameter{}.most;
  for (const OperationKind& kind : operation_kinds()) {
    Sizes sizes;
    for (const SizeParameter& size : kind.sizes) {
      const bool small = size.name == "k" || size.name == "kernel" || size.name == "stride" ||
                         size.name == "d_e" || size.name == "c_in" || size.most < most;
      if (!small) sizes.emplace_back(size.name, size.most);
    }
    for (const std::string_view variant : kind.variants()) {
      const OperationSpec spec{std::string(kind.name), std::string(variant), sizes};
      if (bytes_needed(spec) < 1e12) continue;  // a list of elements, which is one size
      const Error error = refusal(spec);
      EXPECT_THAT(error.what, HasSubstr("of memory, and there are ")) << kind.name;
      EXPECT_EQ(error.fault, Fault::kUsage);
    }
  }
}

TEST(Operation, TheBytesItNeedsAreThoseOfItsTensors) {
  // Input, output, weights and bias.
  EXPECT_EQ(bytes_needed({"linear", "reference", {{"d_c", 8}, {"l", 4}, {"batch", 2}}}),
            4.0 * (2 * 8 + 2 * 4 + 4 * 8 + 4));
  EXPECT_GT(bytes_needed({"linear", "simd"}), bytes_needed({"linear", "reference"}));
  EXPECT_EQ(bytes_needed({"relu", "simd", {{"count", 100}}}), 800);
}

TEST(CheckBlocks, CoverEverythingThatIsCheap) {
  const std::vector<CheckBlock> blocks = check_blocks(3, 10, 100);
  ASSERT_EQ(blocks.size(), 3U);
  EXPECT_EQ(blocks[2].item, 2U);
  EXPECT_EQ(blocks[2].channels, 10U);
}

TEST(CheckBlocks, SpreadOverItemsAndThenOverTheEndsOfTheChannels) {
  const std::vector<CheckBlock> items = check_blocks(100, 10, 3e6);
  ASSERT_EQ(items.size(), 5U);
  EXPECT_EQ(items.front().item, 0U);
  EXPECT_EQ(items.back().item, 99U);
  const std::vector<CheckBlock> ends = check_blocks(100, 1000, 1e6);
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_EQ(ends[0].channels, 75U);
  EXPECT_EQ(ends[1].item, 99U);
  EXPECT_EQ(ends[1].first + ends[1].channels, 1000U);
  EXPECT_EQ(check_blocks(2, 4, 1e12)[1].first, 3U) << "one channel at each end";
}

}  // namespace
}  // namespace hwprof
