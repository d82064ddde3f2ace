#include "kernels/complexity.h"

namespace hwprof {
namespace {

constexpr double kFloatBytes = 4;

double real(std::size_t count) { return static_cast<double>(count); }

}  // namespace

Cost conv1d_cost(std::size_t k, std::size_t d_e, std::size_t d_c, std::size_t rows,
                 std::size_t positions) {
  const double multiply_adds = real(k) * real(d_e) * real(d_c) * real(positions);
  const double outputs = real(d_c) * real(positions);
  const double weights = real(k) * real(d_e) * real(d_c);
  const double bytes = kFloatBytes * (real(rows) * real(d_e) + weights + real(d_c) + outputs);
  return {.flops = 2 * multiply_adds + outputs,
          .comparisons = outputs,
          .bytes = bytes,
          .working_set_bytes = bytes,
          .cost_units = multiply_adds};
}

Cost maxpool_cost(std::size_t d_c, std::size_t positions, std::size_t documents) {
  const double inputs = real(d_c) * real(positions);
  const double bytes = kFloatBytes * (inputs + real(d_c) * real(documents));
  return {.flops = 0,
          .comparisons = inputs,
          .bytes = bytes,
          .working_set_bytes = bytes,
          .cost_units = inputs};
}

Cost linear_cost(std::size_t inputs, std::size_t outputs, std::size_t documents,
                 std::size_t weight_passes) {
  const double multiply_adds = real(inputs) * real(outputs) * real(documents);
  const double results = real(outputs) * real(documents);
  const double activations = real(inputs) * real(documents) + results;
  const double parameters = real(outputs) * (real(inputs) + 1);
  return {.flops = 2 * multiply_adds + results,
          .comparisons = 0,
          .bytes = kFloatBytes * (activations + parameters * real(weight_passes)),
          .working_set_bytes = kFloatBytes * (activations + parameters),
          .cost_units = multiply_adds};
}

}  // namespace hwprof
