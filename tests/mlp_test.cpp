// The network that learns: its gradients against finite differences of a loss in double precision,
// and that the loss falls and held-out images are told apart.
#include "src/workloads/mlp/mlp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <vector>

#include "src/workloads/inputs/image_set.h"
#include "src/workloads/inputs/random.h"
#include "src/workloads/mlp/mlp_training.h"

namespace hwprof {
namespace {

const BlasLibrary* blas() {
  static const Result<BlasLibrary> library = BlasLibrary::load("");
  return library ? &*library : nullptr;
}

// The sum of the losses, from the definition. Layer by layer: weights [out, in], then biases.
double loss_in_double(const MlpShape& shape, const std::vector<double>& parameters,
                      const std::vector<double>& images, const std::vector<std::uint8_t>& labels) {
  double loss = 0;
  const std::size_t inputs = shape.widths.front();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    std::vector<double> x(images.begin() + static_cast<std::ptrdiff_t>(i * inputs),
                          images.begin() + static_cast<std::ptrdiff_t>((i + 1) * inputs));
    std::size_t at = 0;
    for (std::size_t l = 0; l + 1 < shape.widths.size(); ++l) {
      const std::size_t in = shape.widths[l], out = shape.widths[l + 1];
      std::vector<double> z(out);
      for (std::size_t j = 0; j < out; ++j) {
        z[j] = parameters[at + out * in + j];
        for (std::size_t d = 0; d < in; ++d) z[j] += parameters[at + j * in + d] * x[d];
        if (l + 2 < shape.widths.size()) z[j] = std::max(z[j], 0.0);
      }
      at += out * (in + 1);
      x = z;
    }
    double sum = 0;
    for (const double z : x) sum += std::exp(z);
    loss += std::log(sum) - x[labels[i]];
  }
  return loss;
}

class MlpVariants : public testing::TestWithParam<std::string_view> {};

TEST_P(MlpVariants, GradientsAreTheFiniteDifferencesOfTheLoss) {
  if (mlp_needs_blas(GetParam()) && blas() == nullptr) GTEST_SKIP() << "no BLAS here";
  ThreadTeam team(2, {});
  const MlpShape shape{.widths = {19, 13, 7, 10}, .batch = 6};
  Result<Mlp> mlp = Mlp::create(shape, GetParam(), blas(), team, 5);
  ASSERT_TRUE(mlp);
  SplitMix64 random(7);
  std::vector<double> images;
  for (float& x : mlp->input()) images.push_back(static_cast<double>(x = random.symmetric(1)));
  const std::vector<std::uint8_t> labels = {3, 0, 9, 9, 1, 5};

  mlp->forward(labels.size());
  const double loss = mlp->backward(labels);
  std::vector<double> parameters(mlp->parameters().begin(), mlp->parameters().end());
  EXPECT_NEAR(loss, loss_in_double(shape, parameters, images, labels), 1e-4);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    constexpr double kStep = 1e-5;
    const double kept = parameters[i];
    parameters[i] = kept + kStep;
    const double above = loss_in_double(shape, parameters, images, labels);
    parameters[i] = kept - kStep;
    const double below = loss_in_double(shape, parameters, images, labels);
    parameters[i] = kept;
    EXPECT_NEAR(static_cast<double>(mlp->gradients()[i]), (above - below) / (2 * kStep), 2e-4)
        << "parameter " << i;
  }
}

TEST_P(MlpVariants, LearnsFromAFewImagesAndTheLossFalls) {
  if (mlp_needs_blas(GetParam()) && blas() == nullptr) GTEST_SKIP() << "no BLAS here";
  ThreadTeam team(1, {});
  ImageSet train = generate_digits(600, 1);
  const ImageSet held_out = train.split_off(100);
  // A batch that does not divide the set: the last step is a shorter one.
  const MlpShape shape{.widths = {784, 32, 10}, .batch = 48};
  Result<Mlp> mlp = Mlp::create(shape, GetParam(), blas(), team, 0);
  ASSERT_TRUE(mlp);
  const std::vector<std::uint32_t> order = training_order(train, 0);
  const std::atomic<bool> stop = false;
  std::vector<EpochResult> epochs;
  for (int i = 0; i < 15; ++i) {
    epochs.push_back(train_epoch(*mlp, train, order, held_out, {}, stop));
  }
  EXPECT_TRUE(epochs.back().whole);
  EXPECT_LT(epochs.back().loss, 0.7 * epochs.front().loss);
  EXPECT_GT(epochs.back().accuracy, 0.3);  // chance: 0.1
}

TEST_P(MlpVariants, EveryProductOfAStepIsRight) {
  if (mlp_needs_blas(GetParam()) && blas() == nullptr) GTEST_SKIP() << "no BLAS here";
  ThreadTeam team(2, {});
  Result<Mlp> mlp = Mlp::create({}, GetParam(), blas(), team, 0);
  ASSERT_TRUE(mlp);
  SplitMix64 random(7);
  for (float& x : mlp->input()) x = random.symmetric(1);
  mlp->forward(100);
  mlp->backward(std::vector<std::uint8_t>(100, 4));
  const std::vector<Task> tasks = mlp->tasks();
  EXPECT_EQ(tasks.size(), 8U);  // three layers; the first has no gradient of its input
  for (const Task& task : tasks) {
    task.run();
    EXPECT_LT(task.check(), 1e-5) << task.op << " " << task.variant;
  }
}

INSTANTIATE_TEST_SUITE_P(All, MlpVariants,
                         testing::ValuesIn(mlp_variants().begin(), mlp_variants().end()),
                         [](const auto& info) { return std::string(info.param); });

TEST(MlpTraining, AnEpochThatIsStoppedIsNotWhole) {
  ThreadTeam team(1, {});
  ImageSet train = generate_digits(120, 1);
  const ImageSet held_out = train.split_off(20);
  Result<Mlp> mlp = Mlp::create({}, "simd", nullptr, team, 0);
  ASSERT_TRUE(mlp);
  const std::atomic<bool> stop = true;
  EXPECT_FALSE(train_epoch(*mlp, train, training_order(train, 0), held_out, {}, stop).whole);
}

TEST(MlpTraining, TheOrderHoldsEveryImageOnceAndIsThatOfTheSeed) {
  const ImageSet set = generate_digits(50, 1);
  std::vector<std::uint32_t> order = training_order(set, 3);
  EXPECT_EQ(order, training_order(set, 3));
  EXPECT_NE(order, training_order(set, 4));
  std::sort(order.begin(), order.end());
  for (std::uint32_t i = 0; i < 50; ++i) EXPECT_EQ(order[i], i);
}

TEST(Digits, AreTheSameForTheSameSeedAndOfAllClasses) {
  const ImageSet a = generate_digits(300, 9), b = generate_digits(300, 9);
  EXPECT_EQ(a.pixels, b.pixels);
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_NE(a.pixels, generate_digits(300, 10).pixels);
  for (std::uint8_t digit = 0; digit < kClasses; ++digit) {
    EXPECT_GT(std::count(a.labels.begin(), a.labels.end(), digit), 10);
  }
  EXPECT_EQ(a.pixels.size(), 300U * 784);
}

}  // namespace
}  // namespace hwprof
