#include "src/workloads/operations/operation_build.h"

#include <numeric>

#include "src/workloads/inputs/random.h"

namespace hwprof {

float* OperationBuild::zeros(std::initializer_list<std::size_t> factors, std::string_view name) {
  double floats = 1;
  std::size_t count = 1;
  for (const std::size_t factor : factors) {
    floats *= static_cast<double>(factor);
    count *= factor;
  }
  bytes += floats * sizeof(float);
  if (dry || failure) return nullptr;
  const bool shared = place.memory != nullptr && !name.empty();
  if (shared) {
    const auto there = place.memory->floats.find(name);
    if (there != place.memory->floats.end()) return there->second.data();
  }
  Result<FloatBuffer> buffer = FloatBuffer::zeros(count);
  if (!buffer) {
    failure = buffer.error();
    return nullptr;
  }
  if (shared) {
    return place.memory->floats.emplace(std::string(name), std::move(*buffer)).first->second.data();
  }
  memory.push_back(std::move(*buffer));
  return memory.back().data();
}

float* OperationBuild::uniform(std::initializer_list<std::size_t> factors, float middle,
                               float bound, std::string_view what, std::uint64_t seed) {
  const bool filled = place.memory != nullptr && place.memory->floats.count(what) != 0;
  float* floats = zeros(factors, what);
  if (floats == nullptr || filled) return floats;
  std::size_t count = 1;
  for (const std::size_t factor : factors) count *= factor;
  SplitMix64 random(SplitMix64(seed).next() ^ hash_text(what));
  constexpr float kHalf = 1U << 23;
  for (float& value : std::span(floats, count)) {
    value = middle + (static_cast<float>(random.below(1U << 24)) - kHalf) * (bound / kHalf);
  }
  return floats;
}

const float* OperationBuild::input(std::size_t index, std::initializer_list<std::size_t> factors) {
  if (index < inputs.size()) return inputs[index].data();
  return uniform(factors, 0, 1, index == 0 ? "input" : "second input", spec.seed);
}

float* OperationBuild::result(std::initializer_list<std::size_t> factors) {
  if (!place.into.empty()) {
    output = place.into;
    return place.into.data();
  }
  float* y = zeros(factors, "result of " + spec.op);
  std::size_t count = 1;
  for (const std::size_t factor : factors) count *= factor;
  if (y != nullptr) output = {y, count};
  return y;
}

std::size_t OperationBuild::rows() const {
  return place.row_start.empty() ? size("batch") * size("n") : place.row_start.back();
}

std::span<const std::size_t> OperationBuild::starts(std::size_t k) {
  const std::size_t documents = size("batch");
  bytes += static_cast<double>(documents) * sizeof(std::size_t);
  if (dry || failure) return {};
  std::vector<std::size_t>& table = tables.emplace_back(documents + 1);
  for (std::size_t b = 0; b <= documents; ++b) {
    table[b] = (place.row_start.empty() ? b * size("n") : place.row_start[b]) - b * (k - 1);
  }
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

std::vector<CheckBlock> document_blocks(std::span<const std::size_t> start, std::size_t channels,
                                        double multiply_adds_per_row) {
  std::vector<std::size_t> by_length(start.size() - 1);
  std::iota(by_length.begin(), by_length.end(), std::size_t{0});
  std::stable_sort(by_length.begin(), by_length.end(), [start](std::size_t a, std::size_t b) {
    return start[a + 1] - start[a] < start[b + 1] - start[b];
  });
  const double rows = static_cast<double>(start.back()) / static_cast<double>(by_length.size());
  std::vector<CheckBlock> blocks =
      check_blocks(by_length.size(), channels, multiply_adds_per_row * rows);
  for (CheckBlock& block : blocks) block.item = by_length[block.item];
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
