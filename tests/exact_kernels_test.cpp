// The kernels of kernels/ on every instruction set of this CPU, and products of the BLAS that
// programs get here, counted by blocks and by steps.
#include <cstdlib>
#include <random>

#include "kernels/blas_library.h"
#include "kernels/registry.h"
#include "kernels/simd/simd.h"
#include "tests/conv1d_data.h"
#include "tests/exact_setup.h"
#include "tests/only_targets.h"

namespace hwprof::exact {
namespace {

class ExactKernels : public testing::Test {
 protected:
  // Calls `check` with each variant that needs no BLAS, on each instruction set.
  template <class Variants, class Check>
  void for_each(const Variants& variants, Check&& check) {
    for (const std::int64_t target : single_targets()) {
      const OnlyTargets only(target);
      for (const auto& variant : variants) {
        if (variant.needs_blas) continue;
        SCOPED_TRACE(testing::Message() << variant.name << " " << simd_target());
        check(variant);
      }
    }
  }
  std::vector<float> random(std::size_t size) {
    std::uniform_real_distribution<float> uniform(0.1f, 1.0f);
    std::vector<float> values(size);
    for (float& value : values) value = uniform(generator_);
    return values;
  }
  ThreadTeam team_{1, {}};

 private:
  std::mt19937 generator_{5};
};

TEST_F(ExactKernels, ConvolutionsDoAtLeastTheModelsWork) {
  SKIP_WITHOUT_EXACT();
  const Conv1dData data({2, 3, 19}, {3, 5}, 0);
  const std::uint64_t products = data.positions() * 2 * 3 * 19;
  for_each(conv1d_variants(), [&](const Conv1dVariant& variant) {
    const GuardedFloats packed = data.packed_for(variant);
    std::vector<float> h(data.positions() * 19);
    const Conv1dCall call{.input = data.input(packed, team_), .h = h.data()};
    const Counts counts = same_counts_and_bytes(h, [&] { variant.run(call); });
    EXPECT_GE(counts.total_flops(), 2 * products);
    EXPECT_LE(counts.total_flops(), 6 * products) << "more than padding 19 to whole blocks adds";
  });
  for_each(conv1d_maxpool_variants(), [&](const Conv1dMaxpoolVariant& variant) {
    const GuardedFloats packed = data.packed_for(variant);
    std::vector<float> g(data.documents() * 19);
    const Conv1dMaxpoolCall call{.input = data.input(packed, team_), .g = g.data(), .g_stride = 19};
    const Counts counts = same_counts_and_bytes(g, [&] { variant.run(call); });
    EXPECT_GE(counts.total_flops(), 2 * products);
  });
}

TEST_F(ExactKernels, FullVectorsOfConvolutionAreTheModelExactly) {
  SKIP_WITHOUT_EXACT();
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "needs FMA";
  const Conv1dData data({2, 8, 64}, {7}, 0);
  const auto& variant = conv1d_variants()[1];
  const GuardedFloats packed = data.packed_for(variant);
  std::vector<float> h(data.positions() * 64);
  const Conv1dCall call{.input = data.input(packed, team_), .h = h.data()};
  const Counts counts = same_counts_and_bytes(h, [&] { variant.run(call); });
  EXPECT_EQ(counts.lanes_of(Operation::kFma), data.positions() * 2 * 8 * 64);
}

TEST_F(ExactKernels, LayersWithAndWithoutArithmetic) {
  SKIP_WITHOUT_EXACT();
  const std::vector<float> x = random(3 * 37), a = random(37 * 11), c = random(11);
  for_each(linear_variants(), [&](const LinearVariant& variant) {
    const LinearShape shape{37, 11};
    std::vector<float> packed(variant.pack == nullptr ? 0 : variant.packed_floats(shape));
    if (variant.pack != nullptr) variant.pack(shape, a.data(), packed.data());
    std::vector<float> z(3 * 11);
    const LinearCall call{.shape = shape,
                          .documents = 3,
                          .g = x.data(),
                          .a = a.data(),
                          .packed = packed.data(),
                          .c = c.data(),
                          .z = z.data(),
                          .team = &team_};
    const Counts counts = same_counts_and_bytes(z, [&] { variant.run(call); });
    EXPECT_GE(counts.total_flops(), 2U * 3 * 37 * 11);
  });
  std::vector<float> y(x.size());
  for_each(relu_variants(), [&](const ReluVariant& variant) {
    const ReluCall call{.count = x.size(), .x = x.data(), .y = y.data(), .team = &team_};
    const Counts counts = same_counts_and_bytes(y, [&] { variant.run(call); });
    EXPECT_EQ(counts.total_flops(), 0U);
  });
  for_each(add_variants(), [&](const AddVariant& variant) {
    const AddCall call{
        .count = x.size(), .a = x.data(), .b = x.data(), .y = y.data(), .team = &team_};
    const Counts counts = same_counts_and_bytes(y, [&] { variant.run(call); });
    EXPECT_GE(counts.total_flops(), x.size());
  });
  for_each(batchnorm_variants(), [&](const BatchnormVariant& variant) {
    const BatchnormCall call{.pixels = 3,
                             .channels = 37,
                             .x = x.data(),
                             .bn = {x.data(), x.data() + 1, x.data() + 2, x.data() + 37},
                             .y = y.data(),
                             .team = &team_};
    same_counts_and_bytes(y, [&] { variant.run(call); });
  });
  for_each(softmax_variants(), [&](const SoftmaxVariant& variant) {
    const SoftmaxCall call{.rows = 3, .columns = 37, .x = x.data(), .y = y.data(), .team = &team_};
    same_counts_and_bytes(y, [&] { variant.run(call); });
  });
  for_each(average_pool_variants(), [&](const AveragePoolVariant& variant) {
    std::vector<float> means(37);
    const AveragePoolCall call{
        .images = 1, .pixels = 3, .channels = 37, .x = x.data(), .y = means.data(), .team = &team_};
    same_counts_and_bytes(means, [&] { variant.run(call); });
  });
  const std::array<std::size_t, 3> start = {0, 1, 3};
  for_each(maxpool_variants(), [&](const MaxpoolVariant& variant) {
    std::vector<float> g(2 * 37);
    const MaxpoolCall call{
        .d_c = 37, .start = start, .h = x.data(), .g = g.data(), .g_stride = 37, .team = &team_};
    const Counts counts = same_counts_and_bytes(g, [&] { variant.run(call); });
    EXPECT_EQ(counts.total_flops(), 0U);
  });
}

TEST_F(ExactKernels, ConvolutionsOfImages) {
  SKIP_WITHOUT_EXACT();
  const Conv2dShape shape{.height = 3, .width = 3, .c_in = 2, .c_out = 17};
  const std::vector<float> x = random(3 * 3 * 2), w = random(shape.depth() * shape.c_out);
  for_each(conv2d_variants(), [&](const Conv2dVariant& variant) {
    std::vector<float> packed(variant.pack == nullptr ? 0 : variant.packed_floats(shape));
    if (variant.pack != nullptr) variant.pack(shape, w.data(), packed.data());
    std::vector<float> y(shape.out_pixels() * shape.c_out);
    const Conv2dCall call{.shape = shape,
                          .images = 1,
                          .x = x.data(),
                          .w = w.data(),
                          .packed = packed.data(),
                          .y = y.data(),
                          .team = &team_};
    EXPECT_GT(same_counts_and_bytes(y, [&] { variant.run(call); }).total_flops(), 0U);
  });
}

TEST_F(ExactKernels, ConvolutionsWithNormalisation) {
  SKIP_WITHOUT_EXACT();
  const Conv2dShape shape{.height = 3, .width = 3, .c_in = 2, .c_out = 17};
  const std::vector<float> x = random(3 * 3 * 2), w = random(shape.depth() * shape.c_out);
  const std::vector<float> gamma = random(17), beta = random(17), mean = random(17);
  const std::vector<float> variance = random(17);
  const Conv2dWeights weights{w.data(), {gamma.data(), beta.data(), mean.data(), variance.data()}};
  for_each(conv2d_bn_relu_variants(), [&](const Conv2dBnReluVariant& variant) {
    std::vector<float> packed(variant.pack == nullptr ? 0 : variant.packed_floats(shape));
    if (variant.pack != nullptr) variant.pack(shape, weights, packed.data());
    std::vector<float> y(shape.out_pixels() * shape.c_out);
    const Conv2dBnReluCall call{.shape = shape,
                                .images = 1,
                                .x = x.data(),
                                .weights = weights,
                                .packed = packed.data(),
                                .y = y.data(),
                                .team = &team_};
    EXPECT_GT(same_counts_and_bytes(y, [&] { variant.run(call); }).total_flops(), 0U);
  });
}

TEST_F(ExactKernels, WhatTrainingAdds) {
  SKIP_WITHOUT_EXACT();
  constexpr LinearShape kShape{37, 11};
  constexpr std::size_t kDocuments = 3;
  constexpr std::uint64_t kModel = 2 * kDocuments * kShape.inputs * kShape.outputs;
  const std::vector<float> g = random(kDocuments * kShape.inputs),
                           dz = random(kDocuments * kShape.outputs),
                           a = random(kShape.inputs * kShape.outputs);
  for_each(linear_grad_weights_variants(), [&](const LinearGradWeightsVariant& variant) {
    std::vector<float> da(kShape.inputs * kShape.outputs), dc(kShape.outputs);
    const LinearGradWeightsCall call{.shape = kShape,
                                     .documents = kDocuments,
                                     .g = g.data(),
                                     .dz = dz.data(),
                                     .da = da.data(),
                                     .dc = dc.data(),
                                     .team = &team_};
    EXPECT_GE(same_counts_and_bytes(da, [&] { variant.run(call); }).total_flops(), kModel);
  });
  for_each(linear_grad_input_variants(), [&](const LinearGradInputVariant& variant) {
    std::vector<float> dg(kDocuments * kShape.inputs);
    const LinearGradInputCall call{.shape = kShape,
                                   .documents = kDocuments,
                                   .a = a.data(),
                                   .dz = dz.data(),
                                   .dg = dg.data(),
                                   .team = &team_};
    EXPECT_GE(same_counts_and_bytes(dg, [&] { variant.run(call); }).total_flops(), kModel);
  });
  std::vector<float> dx(g.size());
  for_each(relu_backward_variants(), [&](const ReluBackwardVariant& variant) {
    const ReluBackwardCall call{
        .count = g.size(), .y = g.data(), .dy = g.data(), .dx = dx.data(), .team = &team_};
    EXPECT_EQ(same_counts_and_bytes(dx, [&] { variant.run(call); }).total_flops(), 0U);
  });
  for_each(sgd_variants(), [&](const SgdVariant& variant) {
    std::vector<float> w(g.size());  // changed in place: from the same start each time
    const SgdCall call{.count = g.size(),
                       .learning_rate = 0.1F,
                       .weight_decay = 0.01F,
                       .gradient = g.data(),
                       .w = w.data(),
                       .team = &team_};
    EXPECT_GE(same_counts_and_bytes(w, [&] { variant.run(call); }).total_flops(), 3 * g.size());
  });
  const std::array<std::uint8_t, kDocuments> labels = {0, 5, 10};
  std::vector<float> gradient(dz.size());
  const CrossEntropyCall call{.rows = kDocuments,
                              .columns = kShape.outputs,
                              .p = dz.data(),
                              .labels = labels.data(),
                              .dz = gradient.data()};
  EXPECT_GE(
      same_counts_and_bytes(gradient, [&] { (void)cross_entropy_backward(call); }).total_flops(),
      kDocuments);
}

// Each is a lane, and no FLOP.
TEST_F(ExactKernels, MaximaAreAClassOfTheirOwn) {
  SKIP_WITHOUT_EXACT();
  constexpr std::size_t kChannels = 64, kRows = 15;
  const std::vector<float> h = random(kChannels * kRows);
  const std::array<std::size_t, 2> start = {0, kRows};
  std::vector<float> g(kChannels);
  for_each(maxpool_variants(), [&](const MaxpoolVariant& variant) {
    const MaxpoolCall call{.d_c = kChannels,
                           .start = start,
                           .h = h.data(),
                           .g = g.data(),
                           .g_stride = kChannels,
                           .team = &team_};
    const Counts counts = same_counts_and_bytes(g, [&] { variant.run(call); });
    EXPECT_EQ(counts.total_flops(), 0U);
    // By maxima or by comparisons, as the variant finds them.
    EXPECT_GE(counts.lanes_of(Operation::kMinMax) + counts.lanes_of(Operation::kCompare),
              (kRows - 1) * kChannels);
  });
}

// 2 MNK <= count <= 2 MNK + what scaling by alpha and beta, sums of lanes and padding add.
TEST_F(ExactKernels, ProductsOfTheBlasThatProgramsGet) {
  SKIP_WITHOUT_EXACT();
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  const Result<BlasLibrary> blas = BlasLibrary::load("");
  if (!blas) GTEST_SKIP() << blas.error().what;
  for (const std::size_t n : {33, 64}) {
    SCOPED_TRACE(testing::Message() << blas->path() << " " << n);
    const std::vector<float> a = random(n * n), b = random(n * n);
    std::vector<float> c(n * n);
    const auto size = static_cast<BlasLibrary::Int>(n);
    const Counts counts = same_counts_and_bytes(c, [&] {
      blas->sgemm(false, false, size, size, size, 1, a.data(), size, b.data(), size, 0, c.data(),
                  size);
    });
    EXPECT_GE(counts.flops_of(Precision::kSingle), 2 * n * n * n);
    EXPECT_LE(counts.flops_of(Precision::kSingle), 2 * n * n * n * 105 / 100);
    // Debian's reference BLAS multiplies by alpha once a column of C and row of B.
    if (blas->path().find("/blas/libblas.so.3.") != std::string::npos) {
      EXPECT_EQ(counts.total_flops(), 2 * n * n * n + n * n);
    }
    // OpenBLAS weighs in double precision whether threads are worth their start.
    EXPECT_LE(counts.total_flops() - counts.flops_of(Precision::kSingle), 8U);
  }
}

}  // namespace
}  // namespace hwprof::exact
