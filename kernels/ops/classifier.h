// What ends a classifier: average over the map, softmax, and the loss of training. The contract of
// each stands above its call.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hwprof {

class ThreadTeam;

// Average over the whole map: y[i, c] = mean over p of x[i, p, c].
//
//   x: [images, pixels, channels]  float32, row-major
//   y: [images, channels]          must not overlap x
struct AveragePoolCall {
  std::size_t images = 0, pixels = 0, channels = 0;
  const float* x = nullptr;
  float* y = nullptr;
  ThreadTeam* team = nullptr;
};

void average_pool_reference(const AveragePoolCall& call);
void average_pool_simd(const AveragePoolCall& call);

// Softmax of each row: y[r, j] = exp(x[r, j] - m) / sum_i exp(x[r, i] - m), m the largest of the
// row, so that no exponential overflows.
//
//   x, y: [rows, columns]  float32, row-major; y may be x, and must not overlap it otherwise
//
// A row with a NaN or +infinity gives NaN throughout, as in PyTorch.
struct SoftmaxCall {
  std::size_t rows = 0, columns = 0;
  const float* x = nullptr;
  float* y = nullptr;
  ThreadTeam* team = nullptr;
};

void softmax_reference(const SoftmaxCall& call);
void softmax_simd(const SoftmaxCall& call);

// Cross entropy of softmax: the loss of a row is -ln p[r, label[r]], and its gradient by what went
// into softmax is p - 1 at the label, p elsewhere.
//
//   p, dz: [rows, columns]  float32, row-major: p is the output of softmax; dz may be p
//
// One variant: a row of ten classes is no work.
struct CrossEntropyCall {
  std::size_t rows = 0, columns = 0;
  const float* p = nullptr;
  const std::uint8_t* labels = nullptr;  // below `columns`
  float* dz = nullptr;
};

// The losses of all rows, added up.
double cross_entropy_backward(const CrossEntropyCall& call);

}  // namespace hwprof
