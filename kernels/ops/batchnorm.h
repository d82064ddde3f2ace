// Batch normalisation at inference: y[p, c] = gamma[c] (x[p, c] - mean[c]) / sqrt(variance[c] +
// eps)
// + beta[c].
//
//   x, y: [pixels, channels]  float32, row-major; y may be x, and must not overlap it otherwise
//
// Every variant computes it as scale x + shift (batchnorm_affine()): the rounding differs from the
// formula by a few epsilon of |scale x| + |shift|.
#pragma once

#include <cmath>
#include <cstddef>

#include "kernels/thread_team.h"

namespace hwprof {

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

}  // namespace hwprof
