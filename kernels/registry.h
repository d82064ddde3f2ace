// The table of variants: every implementation of every operation, one signature an operation.
// The first of each is the naive reference.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/conv1d.h"
#include "kernels/conv1d_maxpool.h"
#include "kernels/linear.h"
#include "kernels/maxpool.h"

namespace hwprof {

template <class Call, class Shape>
struct Variant {
  std::string_view name;
  void (*run)(const Call&);
  bool needs_blas = false;
  // Weights in the variant's own layout, made once; null: it takes them as they are.
  std::size_t (*packed_floats)(const Shape&) = nullptr;
  void (*pack)(const Shape&, const float* weights, float* packed) = nullptr;
  // Working memory of one call, given the longest document's rows; null: none.
  std::size_t (*scratch_floats)(const Shape&, std::size_t longest) = nullptr;
};

struct NoWeights {};
using Conv1dVariant = Variant<Conv1dCall, Conv1dShape>;
using Conv1dMaxpoolVariant = Variant<Conv1dMaxpoolCall, Conv1dShape>;
using MaxpoolVariant = Variant<MaxpoolCall, NoWeights>;
using LinearVariant = Variant<LinearCall, LinearShape>;

std::span<const Conv1dVariant> conv1d_variants();
std::span<const Conv1dMaxpoolVariant> conv1d_maxpool_variants();
std::span<const MaxpoolVariant> maxpool_variants();
std::span<const LinearVariant> linear_variants();

inline constexpr std::string_view kReferenceName = "reference";

// Names over all operations, each once, in table order.
std::vector<std::string_view> variant_names();

}  // namespace hwprof
