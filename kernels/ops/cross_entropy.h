// Cross entropy of softmax: the loss of a row is -ln p[r, label[r]], and its gradient by what went
// into softmax is p - 1 at the label, p elsewhere.
//
//   p, dz: [rows, columns]  float32, row-major: p is the output of softmax; dz may be p
//
// One variant: a row of ten classes is no work.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hwprof {

struct CrossEntropyCall {
  std::size_t rows = 0, columns = 0;
  const float* p = nullptr;
  const std::uint8_t* labels = nullptr;  // below `columns`
  float* dz = nullptr;
};

// The losses of all rows, added up.
double cross_entropy_backward(const CrossEntropyCall& call);

}  // namespace hwprof
