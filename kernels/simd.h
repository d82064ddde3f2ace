// What the hand-written kernels share: the product that both convolution and linear layer are.
#pragma once

#include <cstddef>
#include <string>

namespace hwprof {

// out[r, j] = f(bias[j] + sum_d x[r row_stride + d] w[j, d]); rows of x may overlap.
struct SimdProduct {
  const float* x = nullptr;
  std::size_t row_stride = 0, rows = 0, depth = 0;
  const float* packed = nullptr;  // panels of w, see kernels/simd.cpp
  const float* bias = nullptr;    // [columns]
  std::size_t columns = 0;
  float* out = nullptr;  // [rows, columns], row-major
};

// The instruction set that run-time dispatch chose: "AVX3", "AVX2", "SSSE3", "NEON", ...
std::string simd_target();

}  // namespace hwprof
