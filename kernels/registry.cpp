#include "kernels/registry.h"

#include <algorithm>

namespace hwprof {
namespace {

constexpr Conv1dVariant kConv1d[] = {
    {.name = kReferenceName, .run = conv1d_reference},
    {.name = "simd",
     .run = conv1d_simd,
     .packed_floats = conv1d_simd_packed_floats,
     .pack = conv1d_simd_pack},
    {.name = "blas-im2col",
     .run = conv1d_blas_im2col,
     .needs_blas = true,
     .scratch_floats = conv1d_im2col_scratch},
    {.name = "blas-shifted", .run = conv1d_blas_shifted, .needs_blas = true},
};

constexpr Conv1dMaxpoolVariant kConv1dMaxpool[] = {
    {.name = kReferenceName, .run = conv1d_maxpool_reference},
    {.name = "fused",
     .run = conv1d_maxpool_fused,
     .packed_floats = conv1d_simd_packed_floats,
     .pack = conv1d_simd_pack},
};

constexpr MaxpoolVariant kMaxpool[] = {
    {.name = kReferenceName, .run = maxpool_reference},
    {.name = "simd", .run = maxpool_simd},
};

constexpr LinearVariant kLinear[] = {
    {.name = kReferenceName, .run = linear_reference},
    {.name = "simd",
     .run = linear_simd,
     .packed_floats = linear_simd_packed_floats,
     .pack = linear_simd_pack},
    {.name = "blas-gemm", .run = linear_blas_gemm, .needs_blas = true},
    {.name = "blas-gemv", .run = linear_blas_gemv, .needs_blas = true},
};

constexpr Conv2dVariant kConv2d[] = {
    {.name = kReferenceName, .run = conv2d_reference},
    {.name = "simd",
     .run = conv2d_simd,
     .packed_floats = conv2d_simd_packed_floats,
     .pack = conv2d_simd_pack},
    {.name = "blas-im2col",
     .run = conv2d_blas_im2col,
     .needs_blas = true,
     .scratch_floats = conv2d_im2col_scratch},
};

constexpr Conv2dBnReluVariant kConv2dBnRelu[] = {
    {.name = kReferenceName, .run = conv2d_bn_relu_reference},
    {.name = "fused",
     .run = conv2d_bn_relu_fused,
     .packed_floats = conv2d_bn_relu_packed_floats,
     .pack = conv2d_bn_relu_pack},
};

constexpr BatchnormVariant kBatchnorm[] = {
    {.name = kReferenceName, .run = batchnorm_reference},
    {.name = "simd", .run = batchnorm_simd},
};

constexpr ReluVariant kRelu[] = {
    {.name = kReferenceName, .run = relu_reference},
    {.name = "simd", .run = relu_simd},
};

constexpr AddVariant kAdd[] = {
    {.name = kReferenceName, .run = add_reference},
    {.name = "simd", .run = add_simd},
};

constexpr AveragePoolVariant kAveragePool[] = {
    {.name = kReferenceName, .run = average_pool_reference},
    {.name = "simd", .run = average_pool_simd},
};

constexpr SoftmaxVariant kSoftmax[] = {
    {.name = kReferenceName, .run = softmax_reference},
    {.name = "simd", .run = softmax_simd},
};

constexpr LinearGradWeightsVariant kLinearGradWeights[] = {
    {.name = kReferenceName, .run = linear_grad_weights_reference},
    {.name = "simd", .run = linear_grad_weights_simd},
    {.name = "blas-gemm", .run = linear_grad_weights_blas_gemm, .needs_blas = true},
};

constexpr LinearGradInputVariant kLinearGradInput[] = {
    {.name = kReferenceName, .run = linear_grad_input_reference},
    {.name = "simd", .run = linear_grad_input_simd},
    {.name = "blas-gemm", .run = linear_grad_input_blas_gemm, .needs_blas = true},
};

constexpr ReluBackwardVariant kReluBackward[] = {
    {.name = kReferenceName, .run = relu_backward_reference},
    {.name = "simd", .run = relu_backward_simd},
};

constexpr SgdVariant kSgd[] = {
    {.name = kReferenceName, .run = sgd_reference},
    {.name = "simd", .run = sgd_simd},
};

}  // namespace

std::span<const Conv1dVariant> conv1d_variants() { return kConv1d; }
std::span<const Conv1dMaxpoolVariant> conv1d_maxpool_variants() { return kConv1dMaxpool; }
std::span<const MaxpoolVariant> maxpool_variants() { return kMaxpool; }
std::span<const LinearVariant> linear_variants() { return kLinear; }

std::span<const Conv2dVariant> conv2d_variants() { return kConv2d; }
std::span<const Conv2dBnReluVariant> conv2d_bn_relu_variants() { return kConv2dBnRelu; }
std::span<const BatchnormVariant> batchnorm_variants() { return kBatchnorm; }
std::span<const ReluVariant> relu_variants() { return kRelu; }
std::span<const AddVariant> add_variants() { return kAdd; }
std::span<const AveragePoolVariant> average_pool_variants() { return kAveragePool; }
std::span<const SoftmaxVariant> softmax_variants() { return kSoftmax; }

std::span<const LinearGradWeightsVariant> linear_grad_weights_variants() {
  return kLinearGradWeights;
}
std::span<const LinearGradInputVariant> linear_grad_input_variants() { return kLinearGradInput; }
std::span<const ReluBackwardVariant> relu_backward_variants() { return kReluBackward; }
std::span<const SgdVariant> sgd_variants() { return kSgd; }

std::vector<std::string_view> variant_names() {
  std::vector<std::string_view> names;
  const auto add = [&names](const auto& table) {
    for (const auto& variant : table) {
      if (std::find(names.begin(), names.end(), variant.name) == names.end()) {
        names.push_back(variant.name);
      }
    }
  };
  add(kConv1d);
  add(kMaxpool);
  add(kConv1dMaxpool);
  add(kLinear);
  return names;
}

}  // namespace hwprof
