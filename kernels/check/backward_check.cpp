#include <cmath>

#include "kernels/check/check.h"

namespace hwprof {
namespace {

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
