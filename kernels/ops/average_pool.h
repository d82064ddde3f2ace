// Average over the whole map: y[i, c] = mean over p of x[i, p, c].
//
//   x: [images, pixels, channels]  float32, row-major
//   y: [images, channels]          must not overlap x
#pragma once

#include <cstddef>

#include "kernels/thread_team.h"

namespace hwprof {

struct AveragePoolCall {
  std::size_t images = 0, pixels = 0, channels = 0;
  const float* x = nullptr;
  float* y = nullptr;
  ThreadTeam* team = nullptr;
};

void average_pool_reference(const AveragePoolCall& call);
void average_pool_simd(const AveragePoolCall& call);

}  // namespace hwprof
