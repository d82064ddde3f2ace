#include "src/commands/profile/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "src/base/suggest.h"
#include "src/base/text.h"
#include "src/cli/values.h"

namespace hwprof {
namespace {

// A BLAS with 32-bit integers takes no larger size, whatever the memory.
constexpr std::uint64_t kMaxSize = std::numeric_limits<std::int32_t>::max();
// What an absent length will be, about: 124 words as on rcv1.
constexpr std::size_t kTypicalLength = 124;

constexpr std::string_view kFilterSizes = "filter_sizes";
constexpr std::array<std::string_view, 7> kKeys = {"k", "d_e",   "d_c",       "n",
                                                   "l", "batch", kFilterSizes};

Result<std::size_t> parse_size(std::string_view key, std::string_view text) {
  return cli::parse_whole(fmt::format("--shape: {}", key), text, 1, kMaxSize);
}

Result<std::vector<std::size_t>> parse_filter_sizes(std::string_view text) {
  std::vector<std::size_t> sizes;
  for (const std::string_view item : split(text, '+')) {
    TRY(const std::size_t size, parse_size(kFilterSizes, item));
    if (std::find(sizes.begin(), sizes.end(), size) != sizes.end())
      return usage_error(fmt::format("--shape: filter_sizes has {} twice", size));
    sizes.push_back(size);
  }
  return sizes;
}

Result<void> set_size(ShapeOptions& shape, std::string_view key, std::string_view text) {
  if (key == kFilterSizes) {
    TRY(shape.filter_sizes, parse_filter_sizes(text));
    return {};
  }
  TRY(const std::size_t size, parse_size(key, text));
  if (key == "k") shape.filter_sizes = {size};
  if (key == "d_e") shape.d_e = size;
  if (key == "d_c") shape.d_c = size;
  if (key == "n") shape.n = size;
  if (key == "l") shape.l = size;
  if (key == "batch") shape.batch = size;
  return {};
}

// What the sizes must be to each other.
Result<void> check_together(const ShapeOptions& shape) {
  const std::size_t k = *std::max_element(shape.filter_sizes.begin(), shape.filter_sizes.end());
  if (shape.n && k > *shape.n) {
    return usage_error(fmt::format("--shape: a filter of {} words does not fit into documents of "
                                   "n={} words",
                                   k, *shape.n),
                       "k and every filter size may be n at most");
  }
  if (shape.n && shape.batch > kMaxSize / *shape.n) {
    return usage_error(fmt::format("--shape: batch={} documents of n={} words are more than {} "
                                   "rows, the most that a BLAS with 32-bit integers takes",
                                   shape.batch, *shape.n, kMaxSize),
                       "choose a smaller batch");
  }
  return {};
}

struct Tensor {
  std::string_view name;
  double floats;
};

std::string format_bytes(double bytes) {
  constexpr std::array<const char*, 5> kUnits = {"MiB", "GiB", "TiB", "PiB", "EiB"};
  double amount = bytes / (1 << 20);
  std::size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < kUnits.size(); ++unit) amount /= 1024;
  return fmt::format("{:.1f} {}", amount, kUnits[unit]);
}

}  // namespace

Result<ShapeOptions> parse_shape(std::string_view text) {
  ShapeOptions shape;
  std::vector<std::string_view> seen;
  for (const std::string_view item : split(text, ',')) {
    const std::size_t equals = item.find('=');
    const std::string_view key = item.substr(0, equals);
    if (equals == std::string_view::npos) {
      return usage_error(fmt::format("--shape: '{}' is not KEY=SIZE", item),
                         "as in --shape k=2,d_e=300,batch=64");
    }
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
      const std::string near = did_you_mean(nearest(key, std::span<const std::string_view>(kKeys)));
      return usage_error(
          fmt::format("--shape has no key '{}'", key),
          near.empty() ? fmt::format("the keys are {}", fmt::join(kKeys, ", ")) : near);
    }
    if (std::find(seen.begin(), seen.end(), key) != seen.end())
      return usage_error(fmt::format("--shape has {} twice", key));
    seen.push_back(key);
    TRY(set_size(shape, key, item.substr(equals + 1)));
  }
  const auto has = [&seen](std::string_view key) {
    return std::find(seen.begin(), seen.end(), key) != seen.end();
  };
  if (has("k") && has(kFilterSizes)) {
    return usage_error("--shape: k and filter_sizes exclude each other",
                       "k=2 is the same as filter_sizes=2");
  }
  TRY(check_together(shape));
  return shape;
}

Result<void> check_memory(const ShapeOptions& shape, std::uint64_t memory_bytes) {
  // Floating point does not overflow where sizes of 2^31 are multiplied.
  const auto d_e = static_cast<double>(shape.d_e.value_or(kDefaultEmbedding));
  const auto n = static_cast<double>(shape.n.value_or(kTypicalLength));
  const auto d_c = static_cast<double>(shape.d_c);
  const auto l = static_cast<double>(shape.l);
  const auto batch = static_cast<double>(shape.batch);
  const auto filters = static_cast<double>(shape.filter_sizes.size());
  double k_sum = 0;
  for (const std::size_t k : shape.filter_sizes) k_sum += static_cast<double>(k);
  // Documents shorter than the largest filter are padded to it.
  const double rows =
      batch * std::max(n, static_cast<double>(*std::max_element(shape.filter_sizes.begin(),
                                                                shape.filter_sizes.end())));
  const std::array<Tensor, 6> tensors = {{
      {"the word vectors [batch, n, d_e]", rows * d_e},
      // As given, and packed for the hand-written kernels, apart and fused.
      {"the filters [d_c, k, d_e]", 3 * d_c * k_sum * d_e},
      {"the convolution's output [batch, n, d_c]", filters * rows * d_c},
      {"the linear layer [l, d_c]", l * d_c * filters},
      {"the linear layer's output [batch, l]", batch * l},
      // Word ids in a growing vector, and the bookkeeping of a document.
      {"the words of the documents", 4 * rows + 16 * batch},
  }};
  double bytes = 0;
  for (const Tensor& tensor : tensors) bytes += tensor.floats * sizeof(float);
  if (bytes <= static_cast<double>(memory_bytes)) return {};
  const Tensor& largest =
      *std::max_element(tensors.begin(), tensors.end(),
                        [](const Tensor& a, const Tensor& b) { return a.floats < b.floats; });
  return usage_error(
      fmt::format("--shape needs at least {} of memory, of which {} take {}; the machine has {}",
                  format_bytes(bytes), largest.name, format_bytes(largest.floats * sizeof(float)),
                  format_bytes(static_cast<double>(memory_bytes))),
      "choose smaller sizes");
}

}  // namespace hwprof
