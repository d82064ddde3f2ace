#include "src/workloads/mlp/mlp_training.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <optional>

#include "counters/regions/region.h"
#include "src/workloads/inputs/random.h"

namespace hwprof {
namespace {

using Clock = std::chrono::steady_clock;

constexpr float kPixelScale = 1.0f / 256;  // MNISTIter's: [0, 1)

// What a data iterator gives: a tensor of its own for every batch, as MXNet's does. The pages that
// this takes from the kernel are part of what the profile is about.
struct MiniBatch {
  std::unique_ptr<float[]> images;
  std::vector<std::uint8_t> labels;
};

MiniBatch next_batch(const ImageSet& set, std::span<const std::uint32_t> numbers) {
  const Region region("next-batch");
  const std::size_t pixels = set.image_pixels();
  MiniBatch batch;
  batch.images = std::make_unique_for_overwrite<float[]>(numbers.size() * pixels);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::uint8_t* image = set.image(numbers[i]).data();
    float* to = batch.images.get() + i * pixels;
    for (std::size_t p = 0; p < pixels; ++p) to[p] = static_cast<float>(image[p]) * kPixelScale;
    batch.labels.push_back(set.labels[numbers[i]]);
  }
  return batch;
}

MiniBatch load_batch(Mlp& mlp, const ImageSet& set, std::span<const std::uint32_t> numbers) {
  const Region region("data");
  MiniBatch batch = next_batch(set, numbers);
  const Region copy("copy-in");
  std::copy_n(batch.images.get(), numbers.size() * set.image_pixels(), mlp.input().data());
  return batch;
}

double step(Mlp& mlp, const ImageSet& set, std::span<const std::uint32_t> numbers, const Sgd& sgd) {
  const Region region("step");
  const MiniBatch batch = load_batch(mlp, set, numbers);
  {
    const Region forward("forward");
    mlp.forward(numbers.size());
  }
  double loss = 0;
  {
    const Region backward("backward");
    loss = mlp.backward(batch.labels);
  }
  const Region update("update");
  mlp.update(sgd);
  return loss;
}

// f(numbers of a batch) until it returns false; whether all had their turn.
template <class F>
bool for_each_batch(std::span<const std::uint32_t> order, std::size_t batch, const F& f) {
  for (std::size_t i = 0; i < order.size(); i += batch) {
    if (!f(order.subspan(i, std::min(batch, order.size() - i)))) return false;
  }
  return true;
}

std::vector<std::uint32_t> numbers_of(const ImageSet& set) {
  std::vector<std::uint32_t> numbers(set.size());
  std::iota(numbers.begin(), numbers.end(), 0U);
  return numbers;
}

// Absent when `stop` came.
std::optional<double> accuracy(Mlp& mlp, const ImageSet& set, const std::atomic<bool>& stop) {
  const Region region("accuracy");
  std::size_t correct = 0;
  const bool whole = for_each_batch(numbers_of(set), mlp.shape().batch, [&](auto numbers) {
    const MiniBatch batch = load_batch(mlp, set, numbers);
    {
      const Region forward("forward");
      mlp.forward(numbers.size());
    }
    correct += mlp.correct(batch.labels);
    return !stop;
  });
  if (!whole) return std::nullopt;
  return static_cast<double>(correct) / static_cast<double>(set.size());
}

}  // namespace

std::vector<std::uint32_t> training_order(const ImageSet& set, std::uint64_t seed) {
  std::vector<std::uint32_t> order = numbers_of(set);
  SplitMix64 random(seed);
  shuffle(order, random);
  return order;
}

EpochResult train_epoch(Mlp& mlp, const ImageSet& set, std::span<const std::uint32_t> order,
                        const ImageSet& held_out, const Sgd& sgd, const std::atomic<bool>& stop) {
  const Region region("epoch");
  EpochResult result;
  const Clock::time_point begin = Clock::now();
  double loss = 0;
  const bool trained = for_each_batch(order, mlp.shape().batch, [&](auto numbers) {
    loss += step(mlp, set, numbers, sgd);
    return !stop;
  });
  result.train_s = std::chrono::duration<double>(Clock::now() - begin).count();
  if (!trained) return result;
  result.loss = loss / static_cast<double>(order.size());
  const std::optional<double> right = accuracy(mlp, held_out, stop);
  result.whole = right.has_value();
  result.accuracy = right.value_or(0);
  return result;
}

}  // namespace hwprof
