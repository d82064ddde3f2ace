// The naive variants: the loops of the definition, never optimised. They are what the others are
// compared with, in speed; their results, and everybody's, are checked against the double
// precision of kernels/check.h.
#include <algorithm>
#include <cmath>

#include "kernels/document_split.h"
#include "kernels/ops/conv1d.h"
#include "kernels/ops/conv1d_maxpool.h"
#include "kernels/ops/linear.h"
#include "kernels/ops/maxpool.h"

namespace hwprof {

void conv1d_reference(const Conv1dCall& call) {
  const Conv1dInput& input = call.input;
  const auto [k, d_e, d_c] = input.shape;
  for_each_document(input, [&, k = k, d_e = d_e, d_c = d_c](std::size_t b) {
    const float* x = input.document(b);
    float* h = call.output(b);
    for (std::size_t n = 0; n < input.positions(b); ++n) {
      for (std::size_t j = 0; j < d_c; ++j) {
        float sum = input.bias[j];
        for (std::size_t i = 0; i < k; ++i) {
          for (std::size_t d = 0; d < d_e; ++d) {
            sum += input.w[(j * k + i) * d_e + d] * x[(n + i) * d_e + d];
          }
        }
        h[n * d_c + j] = sum < 0 ? 0 : sum;  // keeps a NaN
      }
    }
  });
}

void conv1d_maxpool_reference(const Conv1dMaxpoolCall& call) {
  const Conv1dInput& input = call.input;
  const auto [k, d_e, d_c] = input.shape;
  for_each_document(input, [&, k = k, d_e = d_e, d_c = d_c](std::size_t b) {
    const float* x = input.document(b);
    for (std::size_t j = 0; j < d_c; ++j) {
      float best = 0;  // of ReLU
      for (std::size_t n = 0; n < input.positions(b); ++n) {
        float sum = input.bias[j];
        for (std::size_t i = 0; i < k; ++i) {
          for (std::size_t d = 0; d < d_e; ++d) {
            sum += input.w[(j * k + i) * d_e + d] * x[(n + i) * d_e + d];
          }
        }
        if (sum > best || std::isnan(sum)) best = sum;
      }
      call.output(b)[j] = best;
    }
  });
}

void maxpool_reference(const MaxpoolCall& call) {
  for_each_document(call, [&](std::size_t b) {
    for (std::size_t j = 0; j < call.d_c; ++j) {
      float best = call.h[call.start[b] * call.d_c + j];
      for (std::size_t p = call.start[b] + 1; p < call.start[b + 1]; ++p) {
        const float value = call.h[p * call.d_c + j];
        if (value > best || std::isnan(value)) best = value;
      }
      call.output(b)[j] = best;
    }
  });
}

void linear_reference(const LinearCall& call) {
  const auto [inputs, outputs] = call.shape;
  call.team->run([&, inputs = inputs, outputs = outputs](std::size_t thread) {
    const auto [first, last] = share_of(call.documents, thread, call.team->size());
    for (std::size_t b = first; b < last; ++b) {
      for (std::size_t j = 0; j < outputs; ++j) {
        float sum = call.c[j];
        for (std::size_t d = 0; d < inputs; ++d) {
          sum += call.a[j * inputs + d] * call.g[b * inputs + d];
        }
        call.z[b * outputs + j] = sum;
      }
    }
  });
}

}  // namespace hwprof
