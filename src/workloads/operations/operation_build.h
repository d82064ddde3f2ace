// What the builders of operations share: memory, weights and a ready task. A build may be dry: it
// then adds up what it would allocate, so that the memory an operation needs is said by the very
// code that takes it.
#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/blas_library.h"
#include "kernels/check.h"
#include "kernels/registry.h"
#include "kernels/tensor.h"
#include "kernels/thread_team.h"
#include "src/base/result.h"
#include "src/workloads/operations/operation.h"
#include "src/workloads/task.h"

namespace hwprof {

struct OperationBuild {
  const OperationSpec& spec;
  const Sizes& sizes;  // complete
  std::span<const std::span<const float>> inputs{};
  OperationPlace place{};
  const BlasLibrary* blas = nullptr;
  ThreadTeam* team = nullptr;
  bool dry = false;

  Task task{};
  std::vector<FloatBuffer> memory{};
  std::deque<std::vector<std::size_t>> tables{};  // calls have spans of them
  std::span<const float> output{};
  std::function<Expected()> expected{};  // all of it, from what the inputs hold when it is called
  double bytes = 0;
  std::optional<Error> failure{};  // the first; what is built after it is never run

  [[nodiscard]] std::size_t size(std::string_view name) const { return size_of(sizes, name); }

  // Null in a dry build and after a failure. The size is the product of `factors`, which may be
  // too large for an integer only in a dry build. What has a name is shared where the place says
  // so.
  float* zeros(std::initializer_list<std::size_t> factors, std::string_view name = {});
  // Uniform in [middle - bound, middle + bound); `what` and the seed say which numbers.
  float* uniform(std::initializer_list<std::size_t> factors, float middle, float bound,
                 std::string_view what, std::uint64_t seed);
  const float* input(std::size_t index, std::initializer_list<std::size_t> factors);
  // The task's result.
  float* result(std::initializer_list<std::size_t> factors);
  // Documents as the place has them, or all alike.
  [[nodiscard]] std::size_t rows() const;
  // Where each document starts once a filter of k words went over it, and where the last one ends.
  std::span<const std::size_t> starts(std::size_t k);

  // The variant's own layout of `weights`, which are `count` floats; null where it has none.
  template <class V, class S, class W>
  const float* pack(const V& variant, const S& shape, const W& weights,
                    std::initializer_list<std::size_t> count);
  // Describes the task; its run() is still empty.
  template <class V>
  void describe(const V& variant, const Cost& cost);
};

// A part of the result that is compared with double precision: of one item (document, image, row)
// a range of its channels.
struct CheckBlock {
  std::size_t item = 0, first = 0, channels = 0;
};

// Blocks that cost about 0.2 s to check: all when that is enough, else items spread evenly, and of
// an item that alone is too much its first and its last channels.
std::vector<CheckBlock> check_blocks(std::size_t items, std::size_t channels,
                                     double multiply_adds_per_channel);

// The largest error over `items` of `floats` results each in `y`, of which expected_of(item) gives
// one; over a sample of them where all would take too long.
template <class F>
double items_error(std::size_t items, std::size_t floats, double multiply_adds, const float* y,
                   const F& expected_of) {
  double error = 0;
  for (const CheckBlock& block : check_blocks(items, 1, multiply_adds))
    error = std::max(error, max_relative_error(expected_of(block.item), y + block.item * floats));
  return error;
}

// The same as a task's check, of a call whose items (its member `items` counts them) are `input`
// floats of `x` each.
template <class Call>
std::function<double()> items_check(const Call& call, std::size_t Call::*items, std::size_t input,
                                    std::size_t floats, double multiply_adds,
                                    Expected (*expected)(const Call&)) {
  return [=] {
    return items_error(call.*items, floats, multiply_adds, call.y, [&](std::size_t item) {
      Call part = call;
      part.*items = 1;
      part.x += item * input;
      return expected(part);
    });
  };
}

// Blocks of documents that may differ in length, whose rows begin at `start`: the shortest and
// the longest of them, and others in between.
std::vector<CheckBlock> document_blocks(std::span<const std::size_t> start, std::size_t channels,
                                        double multiply_adds_per_row);

// What an operation gives that treats its items one by one.
template <class F>
Expected expected_of_items(std::size_t items, const F& expected_of) {
  Expected all;
  for (std::size_t i = 0; i < items; ++i) {
    const Expected one = expected_of(i);
    all.value.insert(all.value.end(), one.value.begin(), one.value.end());
    all.magnitude.insert(all.magnitude.end(), one.magnitude.begin(), one.magnitude.end());
  }
  return all;
}

// The error of `block`, whose values and magnitudes are `rows` x block.channels; `y` is the item's
// result, `rows` x `channels`.
double block_error(const Expected& expected, const CheckBlock& block, const float* y,
                   std::size_t channels);

template <class Variants>
const auto& variant_named(const Variants& variants, std::string_view name) {
  return *std::find_if(variants.begin(), variants.end(),
                       [name](const auto& variant) { return variant.name == name; });
}

template <class V, class S, class W>
const float* OperationBuild::pack(const V& variant, const S& shape, const W& weights,
                                  std::initializer_list<std::size_t> count) {
  if (variant.pack == nullptr) return nullptr;
  double floats = 1;
  for (const std::size_t factor : count) floats *= static_cast<double>(factor);
  constexpr double kBeyondAnyMachine = 1e15;
  if (floats > kBeyondAnyMachine) return zeros(count);
  float* packed = zeros({variant.packed_floats(shape)});
  if (packed != nullptr) variant.pack(shape, weights, packed);
  return packed;
}

template <class V>
void OperationBuild::describe(const V& variant, const Cost& cost) {
  task.cost = cost;
  task.optimised = variant.name != kReferenceName;
  task.needs_blas = variant.needs_blas;
}

inline float fan_in_bound(std::size_t fan_in) { return 1 / std::sqrt(static_cast<float>(fan_in)); }

// One function an operation; the table of operations names them.
void build_conv1d(OperationBuild& build);
void build_conv1d_maxpool(OperationBuild& build);
void build_maxpool(OperationBuild& build);
void build_linear(OperationBuild& build);
void build_conv2d(OperationBuild& build);
void build_conv2d_bn_relu(OperationBuild& build);
void build_batchnorm(OperationBuild& build);
void build_average_pool(OperationBuild& build);
void build_relu(OperationBuild& build);
void build_add(OperationBuild& build);
void build_softmax(OperationBuild& build);
void build_reshape(OperationBuild& build);

}  // namespace hwprof
