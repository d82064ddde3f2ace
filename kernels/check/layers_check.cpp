#include <algorithm>
#include <cmath>

#include "kernels/check/check.h"

namespace hwprof {
namespace {

// Sum and sum of absolute values of the taps of one output.
struct Sum {
  double value = 0, magnitude = 0;
};

Sum convolve_at(const Conv2dShape& shape, const float* x, const float* w, std::size_t u,
                std::size_t v) {
  Sum sum;
  const auto padding = static_cast<std::ptrdiff_t>(shape.padding());
  for (std::size_t a = 0; a < shape.kernel; ++a) {
    for (std::size_t b = 0; b < shape.kernel; ++b) {
      const auto line = static_cast<std::ptrdiff_t>(u * shape.stride + a) - padding;
      const auto column = static_cast<std::ptrdiff_t>(v * shape.stride + b) - padding;
      const bool inside = line >= 0 && line < static_cast<std::ptrdiff_t>(shape.height) &&
                          column >= 0 && column < static_cast<std::ptrdiff_t>(shape.width);
      if (!inside) continue;
      const std::size_t pixel =
          static_cast<std::size_t>(line) * shape.width + static_cast<std::size_t>(column);
      for (std::size_t c = 0; c < shape.c_in; ++c) {
        const double term = static_cast<double>(x[pixel * shape.c_in + c]) *
                            w[(a * shape.kernel + b) * shape.c_in + c];
        sum.value += term;
        sum.magnitude += std::abs(term);
      }
    }
  }
  return sum;
}

// scale = gamma / sqrt(variance + epsilon) in double precision.
struct Normalisation {
  Normalisation(const BatchnormParameters& bn, std::size_t c)
      : scale(bn.gamma[c] / std::sqrt(static_cast<double>(bn.variance[c]) + bn.epsilon)),
        mean(bn.mean[c]),
        beta(bn.beta[c]) {}

  [[nodiscard]] double value(double x) const { return (x - mean) * scale + beta; }
  [[nodiscard]] double magnitude(double x_magnitude) const {
    return (x_magnitude + std::abs(mean)) * std::abs(scale) + std::abs(beta);
  }

  double scale, mean, beta;
};

}  // namespace

Expected conv2d_expected(const Conv2dCall& call) {
  const Conv2dShape& shape = call.shape;
  Expected expected;
  for (std::size_t image = 0; image < call.images; ++image) {
    const float* x = call.x + image * shape.height * shape.width * shape.c_in;
    for (std::size_t pixel = 0; pixel < shape.out_pixels(); ++pixel) {
      for (std::size_t j = 0; j < shape.c_out; ++j) {
        const Sum sum = convolve_at(shape, x, call.w + j * shape.depth(), pixel / shape.out_width(),
                                    pixel % shape.out_width());
        expected.value.push_back(sum.value);
        expected.magnitude.push_back(sum.magnitude);
      }
    }
  }
  return expected;
}

Expected conv2d_bn_relu_expected(const Conv2dBnReluCall& call) {
  Expected expected = conv2d_expected(
      {.shape = call.shape, .images = call.images, .x = call.x, .w = call.weights.w});
  for (std::size_t i = 0; i < expected.value.size(); ++i) {
    const Normalisation normalise(call.weights.bn, i % call.shape.c_out);
    const double addend = call.addend == nullptr ? 0 : call.addend[i];
    double& value = expected.value[i];
    value = normalise.value(value) + addend;
    if (call.relu && value < 0) value = 0;
    expected.magnitude[i] = normalise.magnitude(expected.magnitude[i]) + std::abs(addend);
  }
  return expected;
}

Expected batchnorm_expected(const BatchnormCall& call) {
  Expected expected;
  for (std::size_t i = 0; i < call.pixels * call.channels; ++i) {
    const Normalisation normalise(call.bn, i % call.channels);
    expected.value.push_back(normalise.value(call.x[i]));
    expected.magnitude.push_back(normalise.magnitude(std::abs(call.x[i])));
  }
  return expected;
}

Expected average_pool_expected(const AveragePoolCall& call) {
  Expected expected;
  const auto pixels = static_cast<double>(call.pixels);
  for (std::size_t i = 0; i < call.images; ++i) {
    for (std::size_t c = 0; c < call.channels; ++c) {
      Sum sum;
      for (std::size_t p = 0; p < call.pixels; ++p) {
        const double value = call.x[(i * call.pixels + p) * call.channels + c];
        sum.value += value;
        sum.magnitude += std::abs(value);
      }
      expected.value.push_back(sum.value / pixels);
      expected.magnitude.push_back(sum.magnitude / pixels);
    }
  }
  return expected;
}

// exp() turns the rounding of its argument into a relative error: |x - m| belongs to the magnitude.
Expected softmax_expected(const SoftmaxCall& call) {
  Expected expected;
  for (std::size_t r = 0; r < call.rows; ++r) {
    const float* x = call.x + r * call.columns;
    double largest = x[0], sum = 0;
    for (std::size_t j = 1; j < call.columns; ++j) {
      largest = std::max(largest, static_cast<double>(x[j]));
    }
    for (std::size_t j = 0; j < call.columns; ++j) sum += std::exp(x[j] - largest);
    for (std::size_t j = 0; j < call.columns; ++j) {
      const double distance = largest - x[j], value = std::exp(-distance) / sum;
      expected.value.push_back(value);
      // A float may be flushed to 0 below the smallest normal one.
      expected.magnitude.push_back(value * (1 + (value == 0 ? 0 : distance)) + 1e-37);
    }
  }
  return expected;
}

}  // namespace hwprof
