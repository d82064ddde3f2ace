#include "kernels/complexity.h"

#include "kernels/ops/conv2d.h"

namespace hwprof {
namespace {

constexpr double kFloatBytes = 4;

double real(std::size_t count) { return static_cast<double>(count); }

// Taps that lie in the image, over all outputs of an axis with `extent` inputs.
double taps_inside(std::size_t extent, std::size_t outputs, const Conv2dShape& shape) {
  std::size_t taps = 0;
  for (std::size_t output = 0; output < outputs; ++output) {
    taps += span_at(output, output + 1, extent, shape).taps;
  }
  return real(taps);
}

// Where nothing is read twice, all traffic is distinct.
Cost reads_once(Cost cost) {
  cost.working_set_bytes = cost.bytes;
  return cost;
}

}  // namespace

Cost conv1d_cost(std::size_t k, std::size_t d_e, std::size_t d_c, std::size_t rows,
                 std::size_t positions) {
  const double multiply_adds = real(k) * real(d_e) * real(d_c) * real(positions);
  const double outputs = real(d_c) * real(positions);
  const double weights = real(k) * real(d_e) * real(d_c);
  const double bytes = kFloatBytes * (real(rows) * real(d_e) + weights + real(d_c) + outputs);
  return reads_once({.flops = 2 * multiply_adds,
                     .comparisons = outputs,
                     .bytes = bytes,
                     .cost_units = multiply_adds,
                     .multiplications = multiply_adds,
                     .additions = multiply_adds});
}

Cost maxpool_cost(std::size_t d_c, std::size_t positions, std::size_t documents) {
  const double inputs = real(d_c) * real(positions);
  const double bytes = kFloatBytes * (inputs + real(d_c) * real(documents));
  return reads_once({.comparisons = inputs, .bytes = bytes, .cost_units = inputs});
}

Cost conv1d_maxpool_cost(std::size_t k, std::size_t d_e, std::size_t d_c, std::size_t rows,
                         std::size_t positions, std::size_t documents) {
  const Cost conv1d = conv1d_cost(k, d_e, d_c, rows, positions);
  const Cost maxpool = maxpool_cost(d_c, positions, documents);
  const double feature_map_bytes = kFloatBytes * real(d_c) * real(positions);
  const double bytes = conv1d.bytes + maxpool.bytes - 2 * feature_map_bytes;
  return reads_once({.flops = conv1d.flops,
                     .comparisons = conv1d.comparisons + maxpool.comparisons,
                     .bytes = bytes,
                     .cost_units = conv1d.cost_units + maxpool.cost_units,
                     .multiplications = conv1d.multiplications,
                     .additions = conv1d.additions});
}

Cost linear_cost(std::size_t inputs, std::size_t outputs, std::size_t documents,
                 std::size_t weight_passes) {
  const double multiply_adds = real(inputs) * real(outputs) * real(documents);
  const double results = real(outputs) * real(documents);
  const double activations = real(inputs) * real(documents) + results;
  const double parameters = real(outputs) * (real(inputs) + 1);
  return {.flops = 2 * multiply_adds,
          .bytes = kFloatBytes * (activations + parameters * real(weight_passes)),
          .working_set_bytes = kFloatBytes * (activations + parameters),
          .cost_units = multiply_adds,
          .multiplications = multiply_adds,
          .additions = multiply_adds};
}

Cost conv2d_cost(const Conv2dShape& shape, std::size_t images) {
  const double outputs = real(images) * real(shape.out_pixels()) * real(shape.c_out);
  const double inputs = real(images) * real(shape.height) * real(shape.width) * real(shape.c_in);
  // Which lines and which columns are inside does not depend on each other.
  const double taps = taps_inside(shape.height, shape.out_height(), shape) *
                      taps_inside(shape.width, shape.out_width(), shape);
  const double multiply_adds = real(images) * taps * real(shape.c_in) * real(shape.c_out);
  const double weights = real(shape.depth()) * real(shape.c_out);
  return reads_once({.flops = 2 * multiply_adds,
                     .bytes = kFloatBytes * (inputs + weights + outputs),
                     .cost_units = multiply_adds,
                     .multiplications = multiply_adds,
                     .additions = multiply_adds});
}

Cost conv2d_bn_relu_cost(const Conv2dShape& shape, std::size_t images, bool addend, bool relu) {
  Cost cost = conv2d_cost(shape, images);
  const double outputs = real(images) * real(shape.out_pixels()) * real(shape.c_out);
  const double sums = addend ? outputs : 0;
  cost.flops += sums;
  cost.additions += sums;
  cost.comparisons = relu ? outputs : 0;
  cost.bytes += kFloatBytes * (real(shape.c_out) + (addend ? outputs : 0));
  return reads_once(cost);
}

Cost batchnorm_cost(std::size_t pixels, std::size_t channels) {
  const double count = real(pixels) * real(channels);
  return reads_once({.flops = 2 * count,
                     .bytes = kFloatBytes * (2 * count + 4 * real(channels)),
                     .cost_units = count,
                     .multiplications = count,
                     .additions = count});
}

Cost relu_cost(std::size_t count) {
  return reads_once({.comparisons = real(count),
                     .bytes = kFloatBytes * 2 * real(count),
                     .cost_units = real(count)});
}

Cost add_cost(std::size_t count) {
  return reads_once({.flops = real(count),
                     .bytes = kFloatBytes * 3 * real(count),
                     .cost_units = real(count),
                     .additions = real(count)});
}

Cost average_pool_cost(std::size_t images, std::size_t pixels, std::size_t channels) {
  const double inputs = real(images) * real(pixels) * real(channels);
  const double outputs = real(images) * real(channels);
  return reads_once({.flops = inputs + outputs,
                     .bytes = kFloatBytes * (inputs + outputs),
                     .cost_units = inputs,
                     .multiplications = outputs,
                     .additions = inputs});
}

Cost softmax_cost(std::size_t rows, std::size_t columns) {
  const double count = real(rows) * real(columns);
  return reads_once({.flops = 4 * count,
                     .comparisons = count,
                     .bytes = kFloatBytes * 2 * count,
                     .cost_units = count,
                     .multiplications = count,
                     .additions = 2 * count});
}

Cost linear_grad_weights_cost(std::size_t inputs, std::size_t outputs, std::size_t documents) {
  const double multiply_adds = real(inputs) * real(outputs) * real(documents);
  const double activations = (real(inputs) + real(outputs)) * real(documents);
  const double bytes = kFloatBytes * (activations + real(outputs) * (real(inputs) + 1));
  const double bias = real(outputs) * real(documents);
  return reads_once({.flops = 2 * multiply_adds + bias,
                     .bytes = bytes,
                     .cost_units = multiply_adds,
                     .multiplications = multiply_adds,
                     .additions = multiply_adds + bias});
}

Cost linear_grad_input_cost(std::size_t inputs, std::size_t outputs, std::size_t documents) {
  const double multiply_adds = real(inputs) * real(outputs) * real(documents);
  const double activations = (real(inputs) + real(outputs)) * real(documents);
  const double bytes = kFloatBytes * (activations + real(outputs) * real(inputs));
  return reads_once({.flops = 2 * multiply_adds,
                     .bytes = bytes,
                     .cost_units = multiply_adds,
                     .multiplications = multiply_adds,
                     .additions = multiply_adds});
}

Cost relu_backward_cost(std::size_t count) {
  return reads_once({.comparisons = real(count),
                     .bytes = kFloatBytes * 3 * real(count),
                     .cost_units = real(count)});
}

Cost cross_entropy_cost(std::size_t rows, std::size_t columns) {
  const double bytes = kFloatBytes * 2 * real(rows) * real(columns) + real(rows);
  return reads_once(
      {.flops = real(rows), .bytes = bytes, .cost_units = real(rows), .additions = real(rows)});
}

Cost sgd_cost(std::size_t count) {
  return {.flops = 3 * real(count),
          .bytes = kFloatBytes * 3 * real(count),
          .working_set_bytes = kFloatBytes * 2 * real(count),
          .cost_units = real(count),
          .multiplications = 2 * real(count),
          .additions = real(count)};
}

}  // namespace hwprof
