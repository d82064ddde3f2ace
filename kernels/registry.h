// kernels/: the operations that workloads are made of, each in several variants, and what judges
// them: contracts (ops/), products by hand (product/), the other kernels by hand (simd/), BLAS
// (blas_variants), the naive loops (reference), the check in double precision (check), the work
// that an operation is (complexity). Nothing here counts events, measures time or prints: kernels/
// knows of src/base only.
//
// This header: the table of variants, one signature an operation. The first of each is the naive
// reference. A new variant is a function with that signature and a row in registry.cpp: what
// profiles, sweeps, tests and lists variants reads the table.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/ops/classifier.h"
#include "kernels/ops/conv1d.h"
#include "kernels/ops/conv2d.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/linear.h"

namespace hwprof {

// Structs of weights are passed by reference, a pointer to floats as it is.
template <class Weights>
using PackArgument = std::conditional_t<std::is_pointer_v<Weights>, Weights, const Weights&>;

template <class Call, class Shape, class Weights = const float*>
struct Variant {
  std::string_view name;
  void (*run)(const Call&);
  bool needs_blas = false;
  // Weights in the variant's own layout, made once; null: it takes them as they are.
  std::size_t (*packed_floats)(const Shape&) = nullptr;
  void (*pack)(const Shape&, PackArgument<Weights> weights, float* packed) = nullptr;
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

// What ResNet20 and an MLP are made of, besides linear.
using Conv2dVariant = Variant<Conv2dCall, Conv2dShape>;
using Conv2dBnReluVariant = Variant<Conv2dBnReluCall, Conv2dShape, Conv2dWeights>;
using BatchnormVariant = Variant<BatchnormCall, NoWeights>;
using ReluVariant = Variant<ReluCall, NoWeights>;
using AddVariant = Variant<AddCall, NoWeights>;
using AveragePoolVariant = Variant<AveragePoolCall, NoWeights>;
using SoftmaxVariant = Variant<SoftmaxCall, NoWeights>;

std::span<const Conv2dVariant> conv2d_variants();
std::span<const Conv2dBnReluVariant> conv2d_bn_relu_variants();
std::span<const BatchnormVariant> batchnorm_variants();
std::span<const ReluVariant> relu_variants();
std::span<const AddVariant> add_variants();
std::span<const AveragePoolVariant> average_pool_variants();
std::span<const SoftmaxVariant> softmax_variants();

// What training an MLP adds to them.
using LinearGradWeightsVariant = Variant<LinearGradWeightsCall, LinearShape>;
using LinearGradInputVariant = Variant<LinearGradInputCall, LinearShape>;
using ReluBackwardVariant = Variant<ReluBackwardCall, NoWeights>;
using SgdVariant = Variant<SgdCall, NoWeights>;

std::span<const LinearGradWeightsVariant> linear_grad_weights_variants();
std::span<const LinearGradInputVariant> linear_grad_input_variants();
std::span<const ReluBackwardVariant> relu_backward_variants();
std::span<const SgdVariant> sgd_variants();

inline constexpr std::string_view kReferenceName = "reference";

// Names over the operations that the text CNN's workload runs (conv1d, maxpool, both fused,
// linear), each once, in table order.
std::vector<std::string_view> variant_names();

}  // namespace hwprof
