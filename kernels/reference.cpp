// The naive variants: the loops of the definition, never optimised. They are what the others are
// compared with, in speed; their results, and everybody's, are checked against the double
// precision of kernels/check.h.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/ops/classifier.h"
#include "kernels/ops/conv1d.h"
#include "kernels/ops/conv2d.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/linear.h"
#include "kernels/thread_team.h"

namespace hwprof {
namespace {

// One output of conv2d at line u, column v, filter j.
float convolve_at(const Conv2dShape& shape, const float* x, const float* w, std::size_t u,
                  std::size_t v, std::size_t j) {
  float sum = 0;
  for (std::size_t a = 0; a < shape.kernel; ++a) {
    for (std::size_t b = 0; b < shape.kernel; ++b) {
      const std::size_t line = u * shape.stride + a, column = v * shape.stride + b;
      const std::size_t padding = shape.padding();
      if (line < padding || line - padding >= shape.height) continue;
      if (column < padding || column - padding >= shape.width) continue;
      const float* pixel = x + ((line - padding) * shape.width + column - padding) * shape.c_in;
      const float* taps = w + ((j * shape.kernel + a) * shape.kernel + b) * shape.c_in;
      for (std::size_t c = 0; c < shape.c_in; ++c) sum += taps[c] * pixel[c];
    }
  }
  return sum;
}

// f(index in y, filter, sum) for every output of the batch.
template <class F>
void convolve(const Conv2dShape& shape, std::size_t images, const float* x, const float* w,
              ThreadTeam* team, const F& f) {
  for_each_item(team, images * shape.out_pixels(), [&](std::size_t pixel) {
    const std::size_t image = pixel / shape.out_pixels(), at = pixel % shape.out_pixels();
    const float* from = x + image * shape.height * shape.width * shape.c_in;
    for (std::size_t j = 0; j < shape.c_out; ++j) {
      f(pixel * shape.c_out + j, j,
        convolve_at(shape, from, w, at / shape.out_width(), at % shape.out_width(), j));
    }
  });
}

}  // namespace

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

void conv2d_reference(const Conv2dCall& call) {
  convolve(call.shape, call.images, call.x, call.w, call.team,
           [&](std::size_t i, std::size_t, float sum) { call.y[i] = sum; });
}

void conv2d_bn_relu_reference(const Conv2dBnReluCall& call) {
  convolve(call.shape, call.images, call.x, call.weights.w, call.team,
           [&](std::size_t i, std::size_t j, float sum) {
             const Affine affine = batchnorm_affine(call.weights.bn, j);
             float value = affine.scale * sum + affine.shift;
             if (call.addend != nullptr) value += call.addend[i];
             call.y[i] = call.relu && value < 0 ? 0 : value;
           });
}

void batchnorm_reference(const BatchnormCall& call) {
  for_each_item(call.team, call.pixels, [&](std::size_t p) {
    for (std::size_t c = 0; c < call.channels; ++c) {
      const Affine affine = batchnorm_affine(call.bn, c);
      const std::size_t i = p * call.channels + c;
      call.y[i] = affine.scale * call.x[i] + affine.shift;
    }
  });
}

void relu_reference(const ReluCall& call) {
  for_each_item(call.team, call.count,
                [&](std::size_t i) { call.y[i] = call.x[i] < 0 ? 0 : call.x[i]; });
}

void add_reference(const AddCall& call) {
  for_each_item(call.team, call.count, [&](std::size_t i) { call.y[i] = call.a[i] + call.b[i]; });
}

void average_pool_reference(const AveragePoolCall& call) {
  for_each_item(call.team, call.images, [&](std::size_t i) {
    for (std::size_t c = 0; c < call.channels; ++c) {
      float sum = 0;
      for (std::size_t p = 0; p < call.pixels; ++p) {
        sum += call.x[(i * call.pixels + p) * call.channels + c];
      }
      call.y[i * call.channels + c] = sum / static_cast<float>(call.pixels);
    }
  });
}

void softmax_reference(const SoftmaxCall& call) {
  for_each_item(call.team, call.rows, [&](std::size_t r) {
    const float* x = call.x + r * call.columns;
    float* y = call.y + r * call.columns;
    float largest = x[0];
    for (std::size_t j = 1; j < call.columns; ++j) largest = std::max(largest, x[j]);
    float sum = 0;
    for (std::size_t j = 0; j < call.columns; ++j) sum += y[j] = std::exp(x[j] - largest);
    for (std::size_t j = 0; j < call.columns; ++j) y[j] /= sum;
  });
}

void linear_grad_weights_reference(const LinearGradWeightsCall& call) {
  const auto [inputs, outputs] = call.shape;
  for_each_item(call.team, outputs, [&, inputs = inputs, outputs = outputs](std::size_t j) {
    for (std::size_t d = 0; d < inputs; ++d) {
      float sum = 0;
      for (std::size_t b = 0; b < call.documents; ++b) {
        sum += call.dz[b * outputs + j] * call.g[b * inputs + d];
      }
      call.da[j * inputs + d] = sum;
    }
    float sum = 0;
    for (std::size_t b = 0; b < call.documents; ++b) sum += call.dz[b * outputs + j];
    call.dc[j] = sum;
  });
}

void linear_grad_input_reference(const LinearGradInputCall& call) {
  const auto [inputs, outputs] = call.shape;
  for_each_item(call.team, call.documents, [&, inputs = inputs, outputs = outputs](std::size_t b) {
    for (std::size_t d = 0; d < inputs; ++d) {
      float sum = 0;
      for (std::size_t j = 0; j < outputs; ++j) {
        sum += call.dz[b * outputs + j] * call.a[j * inputs + d];
      }
      call.dg[b * inputs + d] = sum;
    }
  });
}

void relu_backward_reference(const ReluBackwardCall& call) {
  for_each_item(call.team, call.count,
                [&](std::size_t i) { call.dx[i] = call.y[i] > 0 ? call.dy[i] : 0; });
}

double cross_entropy_backward(const CrossEntropyCall& call) {
  double loss = 0;
  for (std::size_t r = 0; r < call.rows; ++r) {
    const float* p = call.p + r * call.columns;
    float* dz = call.dz + r * call.columns;
    loss -= std::log(static_cast<double>(p[call.labels[r]]));
    for (std::size_t j = 0; j < call.columns; ++j) dz[j] = p[j] - (j == call.labels[r] ? 1 : 0);
  }
  return loss;
}

void sgd_reference(const SgdCall& call) {
  for_each_item(call.team, call.count, [&](std::size_t i) {
    call.w[i] = call.keep() * call.w[i] - call.rate() * call.gradient[i];
  });
}

}  // namespace hwprof
