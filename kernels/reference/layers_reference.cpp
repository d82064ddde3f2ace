// The naive variants of ResNet20's layers: the loops of the definitions, as in
// kernels/reference.cpp.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/ops/add.h"
#include "kernels/ops/average_pool.h"
#include "kernels/ops/batchnorm.h"
#include "kernels/ops/conv2d.h"
#include "kernels/ops/relu.h"
#include "kernels/ops/softmax.h"
#include "kernels/split.h"

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

}  // namespace hwprof
