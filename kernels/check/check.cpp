#include "kernels/check/check.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hwprof {

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

}  // namespace hwprof
