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
  return {.flops = 2 * multiply_adds + outputs,
          .comparisons = outputs,
          .bytes = kFloatBytes * (real(rows) * real(d_e) + weights + real(d_c) + outputs),
          .cost_units = multiply_adds};
}

Cost maxpool_cost(std::size_t d_c, std::size_t positions, std::size_t documents) {
  const double inputs = real(d_c) * real(positions);
  return {.flops = 0,
          .comparisons = inputs,
          .bytes = kFloatBytes * (inputs + real(d_c) * real(documents)),
          .cost_units = inputs};
}

Cost conv1d_maxpool_cost(std::size_t k, std::size_t d_e, std::size_t d_c, std::size_t rows,
                         std::size_t positions, std::size_t documents) {
  const Cost conv1d = conv1d_cost(k, d_e, d_c, rows, positions);
  const Cost maxpool = maxpool_cost(d_c, positions, documents);
  const double feature_map_bytes = kFloatBytes * real(d_c) * real(positions);
  return {.flops = conv1d.flops,
          .comparisons = conv1d.comparisons + maxpool.comparisons,
          .bytes = conv1d.bytes + maxpool.bytes - 2 * feature_map_bytes,
          .cost_units = conv1d.cost_units + maxpool.cost_units};
}

Cost linear_cost(std::size_t inputs, std::size_t outputs, std::size_t documents,
                 std::size_t weight_passes) {
  const double multiply_adds = real(inputs) * real(outputs) * real(documents);
  const double results = real(outputs) * real(documents);
  const double parameters = real(outputs) * (real(inputs) + 1);
  return {.flops = 2 * multiply_adds + results,
          .comparisons = 0,
          .bytes = kFloatBytes *
                   (real(inputs) * real(documents) + parameters * real(weight_passes) + results),
          .cost_units = multiply_adds};
}

}  // namespace hwprof
