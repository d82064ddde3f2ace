// y[i] = a[i] + b[i]: the shortcut of a residual block. y may be a or b, and must not overlap them
// otherwise.
#pragma once

#include <cstddef>

#include "kernels/thread_team.h"

namespace hwprof {

struct AddCall {
  std::size_t count = 0;
  const float* a = nullptr;
  const float* b = nullptr;
  float* y = nullptr;
  ThreadTeam* team = nullptr;
};

void add_reference(const AddCall& call);
void add_simd(const AddCall& call);

}  // namespace hwprof
