#include "kernels/check.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

// sum_k a(r, k) b(k, c) for all r and c.
template <class A, class B>
Expected product(std::size_t rows, std::size_t columns, std::size_t depth, const A& a, const B& b) {
  Expected expected{std::vector<double>(rows * columns), std::vector<double>(rows * columns)};
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t k = 0; k < depth; ++k) {
      const double factor = a(r, k);
      for (std::size_t c = 0; c < columns; ++c) {
        const double term = factor * b(k, c);
        expected.value[r * columns + c] += term;
        expected.magnitude[r * columns + c] += std::abs(term);
      }
    }
  }
  return expected;
}

}  // namespace

Expected conv1d_expected(const Conv1dInput& input, std::size_t document) {
  const auto [k, d_e, d_c] = input.shape;
  const std::size_t positions = input.positions(document), depth = k * d_e;
  const float* x = input.document(document);
  // Filters innermost, so that the compiler may vectorise without reordering any sum.
  std::vector<double> w(depth * d_c);
  for (std::size_t j = 0; j < d_c; ++j) {
    for (std::size_t t = 0; t < depth; ++t) w[t * d_c + j] = input.w[j * depth + t];
  }
  Expected expected{std::vector<double>(positions * d_c), std::vector<double>(positions * d_c)};
  for (std::size_t n = 0; n < positions; ++n) {
    double* value = &expected.value[n * d_c];
    double* magnitude = &expected.magnitude[n * d_c];
    for (std::size_t j = 0; j < d_c; ++j) {
      value[j] = input.bias[j];
      magnitude[j] = std::abs(value[j]);
    }
    for (std::size_t t = 0; t < depth; ++t) {
      const double factor = x[n * d_e + t];
      const double* weights = &w[t * d_c];
      for (std::size_t j = 0; j < d_c; ++j) {
        const double term = factor * weights[j];
        value[j] += term;
        magnitude[j] += std::abs(term);
      }
    }
    for (std::size_t j = 0; j < d_c; ++j) value[j] = value[j] < 0 ? 0 : value[j];
  }
  return expected;
}

Expected conv1d_maxpool_expected(const Conv1dInput& input, std::size_t document) {
  const Expected h = conv1d_expected(input, document);
  const std::size_t d_c = input.shape.d_c;
  Expected expected{std::vector<double>(d_c), std::vector<double>(d_c)};
  for (std::size_t i = 0; i < h.value.size(); ++i) {
    double& best = expected.value[i % d_c];
    if (h.value[i] > best || std::isnan(h.value[i])) best = h.value[i];
    // Rounding may decide which position wins: the largest of the magnitudes bounds the error.
    double& magnitude = expected.magnitude[i % d_c];
    magnitude = std::max(magnitude, h.magnitude[i]);
  }
  return expected;
}

Expected maxpool_expected(const MaxpoolCall& call, std::size_t document) {
  Expected expected{std::vector<double>(call.d_c), std::vector<double>(call.d_c)};
  for (std::size_t j = 0; j < call.d_c; ++j) {
    double best = call.h[call.start[document] * call.d_c + j];
    for (std::size_t p = call.start[document] + 1; p < call.start[document + 1]; ++p) {
      const double value = call.h[p * call.d_c + j];
      if (value > best || std::isnan(value)) best = value;
    }
    expected.value[j] = best;
    expected.magnitude[j] = std::abs(best);
  }
  return expected;
}

Expected linear_expected(const LinearCall& call, std::size_t document) {
  const auto [inputs, outputs] = call.shape;
  Expected expected{std::vector<double>(outputs), std::vector<double>(outputs)};
  for (std::size_t j = 0; j < outputs; ++j) {
    double value = call.c[j], magnitude = std::abs(value);
    for (std::size_t d = 0; d < inputs; ++d) {
      const double term =
          static_cast<double>(call.a[j * inputs + d]) * call.g[document * inputs + d];
      value += term;
      magnitude += std::abs(term);
    }
    expected.value[j] = value;
    expected.magnitude[j] = magnitude;
  }
  return expected;
}

double max_relative_error(const Expected& expected, const float* got) {
  double largest = 0;
  for (std::size_t i = 0; i < expected.value.size(); ++i) {
    const double want = expected.value[i], have = got[i];
    if (std::isnan(want) && std::isnan(have)) continue;
    if (want == have) continue;  // also equal infinities, and 0 with magnitude 0
    const double error = std::abs(have - want) / expected.magnitude[i];
    if (std::isnan(error)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, error);
  }
  return largest;
}

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

Expected linear_grad_weights_expected(const LinearGradWeightsCall& call) {
  const auto [inputs, outputs] = call.shape;
  return product(
      outputs, inputs, call.documents,
      [&, outputs = outputs](std::size_t j, std::size_t b) { return call.dz[b * outputs + j]; },
      [&, inputs = inputs](std::size_t b, std::size_t d) { return call.g[b * inputs + d]; });
}

Expected linear_grad_bias_expected(const LinearGradWeightsCall& call) {
  const std::size_t outputs = call.shape.outputs;
  return product(
      outputs, 1, call.documents,
      [&](std::size_t j, std::size_t b) { return call.dz[b * outputs + j]; },
      [](std::size_t, std::size_t) { return 1.0; });
}

Expected linear_grad_input_expected(const LinearGradInputCall& call) {
  const auto [inputs, outputs] = call.shape;
  return product(
      call.documents, inputs, outputs,
      [&, outputs = outputs](std::size_t b, std::size_t j) { return call.dz[b * outputs + j]; },
      [&, inputs = inputs](std::size_t j, std::size_t d) { return call.a[j * inputs + d]; });
}

}  // namespace hwprof
