// Operations that take each element by itself: ReLU and its gradient, the sum of two, batch
// normalisation, a step of SGD. The contract of each stands above its call: every variant
// (kernels/registry.h) and the check (kernels/check.h) keep to it.
#pragma once

#include <cmath>
#include <cstddef>

namespace hwprof {

class ThreadTeam;

// y[i] = max(x[i], 0), NaN for NaN. y may be x, and must not overlap it otherwise.
struct ReluCall {
  std::size_t count = 0;
  const float* x = nullptr;
  float* y = nullptr;
  ThreadTeam* team = nullptr;
};

void relu_reference(const ReluCall& call);
void relu_simd(const ReluCall& call);

// Gradient of y = relu(x): dx[i] = dy[i] where y[i] > 0, else 0 (at 0 as PyTorch has it). By y, not
// x: a network may run relu in place. dx may be dy, and must not overlap either otherwise.
struct ReluBackwardCall {
  std::size_t count = 0;
  const float* y = nullptr;
  const float* dy = nullptr;
  float* dx = nullptr;
  ThreadTeam* team = nullptr;
};

void relu_backward_reference(const ReluBackwardCall& call);
void relu_backward_simd(const ReluBackwardCall& call);

// y[i] = a[i] + b[i]: the shortcut of a residual block. y may be a or b, and must not overlap them
// otherwise.
struct AddCall {
  std::size_t count = 0;
  const float* a = nullptr;
  const float* b = nullptr;
  float* y = nullptr;
  ThreadTeam* team = nullptr;
};

void add_reference(const AddCall& call);
void add_simd(const AddCall& call);

// Batch normalisation at inference: y[p, c] = gamma[c] (x[p, c] - mean[c]) / sqrt(variance[c] +
// eps)
// + beta[c].
//
//   x, y: [pixels, channels]  float32, row-major; y may be x, and must not overlap it otherwise
//
// Every variant computes it as scale x + shift (batchnorm_affine()): the rounding differs from the
// formula by a few epsilon of |scale x| + |shift|.
struct BatchnormParameters {
  const float* gamma = nullptr;  // [channels] each
  const float* beta = nullptr;
  const float* mean = nullptr;
  const float* variance = nullptr;
  float epsilon = 1e-5f;
};

struct Affine {
  float scale, shift;
};

inline Affine batchnorm_affine(const BatchnormParameters& bn, std::size_t channel) {
  const float scale = bn.gamma[channel] / std::sqrt(bn.variance[channel] + bn.epsilon);
  return {scale, bn.beta[channel] - bn.mean[channel] * scale};
}

struct BatchnormCall {
  std::size_t pixels = 0, channels = 0;
  const float* x = nullptr;
  BatchnormParameters bn;
  float* y = nullptr;
  ThreadTeam* team = nullptr;
};

void batchnorm_reference(const BatchnormCall& call);
void batchnorm_simd(const BatchnormCall& call);

// A step of stochastic gradient descent with weight decay, as MXNet's sgd_update has it (there
// weights and biases decay alike):
//
//   w[i] = (1 - learning_rate * weight_decay) w[i] - learning_rate * rescale * gradient[i]
//
// `rescale` is 1 / batch where gradients are sums over a batch. gradient must not overlap w.
struct SgdCall {
  std::size_t count = 0;
  float learning_rate = 0, weight_decay = 0, rescale = 1;
  const float* gradient = nullptr;
  float* w = nullptr;
  ThreadTeam* team = nullptr;

  [[nodiscard]] float keep() const { return 1 - learning_rate * weight_decay; }
  [[nodiscard]] float rate() const { return learning_rate * rescale; }
};

void sgd_reference(const SgdCall& call);
void sgd_simd(const SgdCall& call);

}  // namespace hwprof
