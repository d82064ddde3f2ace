#include "src/workloads/operations/operation_build.h"

#include "src/workloads/inputs/random.h"

namespace hwprof {

float* OperationBuild::zeros(std::initializer_list<std::size_t> factors) {
  double floats = 1;
  std::size_t count = 1;
  for (const std::size_t factor : factors) {
    floats *= static_cast<double>(factor);
    count *= factor;
  }
  bytes += floats * sizeof(float);
  if (dry || failure) return nullptr;
  Result<FloatBuffer> buffer = FloatBuffer::zeros(count);
  if (!buffer) {
    failure = buffer.error();
    return nullptr;
  }
  memory.push_back(std::move(*buffer));
  return memory.back().data();
}

float* OperationBuild::uniform(std::initializer_list<std::size_t> factors, float middle,
                               float bound, std::string_view what, std::uint64_t seed) {
  float* floats = zeros(factors);
  if (floats == nullptr) return nullptr;
  SplitMix64 random(SplitMix64(seed).next() ^ hash_text(what));
  constexpr float kHalf = 1U << 23;
  for (float& value : memory.back().span()) {
    value = middle + (static_cast<float>(random.below(1U << 24)) - kHalf) * (bound / kHalf);
  }
  return floats;
}

const float* OperationBuild::input(std::size_t index, std::initializer_list<std::size_t> factors) {
  if (index < inputs.size()) return inputs[index].data();
  return uniform(factors, 0, 1, index == 0 ? "input" : "second input", spec.seed);
}

float* OperationBuild::result(std::initializer_list<std::size_t> factors) {
  float* y = zeros(factors);
  if (y != nullptr) output = memory.back().span();
  return y;
}

std::span<const std::size_t> OperationBuild::starts(std::size_t count, std::size_t step) {
  bytes += static_cast<double>(count) * sizeof(std::size_t);
  if (dry || failure) return {};
  std::vector<std::size_t>& table = tables.emplace_back(count + 1);
  for (std::size_t i = 0; i <= count; ++i) table[i] = i * step;
  return table;
}

std::vector<CheckBlock> check_blocks(std::size_t items, std::size_t channels,
                                     double multiply_adds_per_channel) {
  constexpr double kMultiplyAdds = 150e6;  // about 0.2 s
  const double affordable = kMultiplyAdds / std::max(multiply_adds_per_channel, 1.0);
  const auto all_channels = static_cast<double>(channels);
  if (affordable < all_channels) {
    const auto half = static_cast<std::size_t>(std::max(1.0, affordable / 2));
    return {{0, 0, half}, {items - 1, channels - half, half}};
  }
  const auto count =
      static_cast<std::size_t>(std::min(affordable / all_channels, static_cast<double>(items)));
  std::vector<CheckBlock> blocks;
  for (std::size_t i = 0; i < count; ++i) {
    blocks.push_back({count == 1 ? 0 : i * (items - 1) / (count - 1), 0, channels});
  }
  return blocks;
}

double block_error(const Expected& expected, const CheckBlock& block, const float* y,
                   std::size_t channels) {
  std::vector<float> got(expected.value.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    got[i] = y[i / block.channels * channels + block.first + i % block.channels];
  }
  return max_relative_error(expected, got.data());
}

}  // namespace hwprof
