// The layers of the text CNN, over documents of equal length.
#include "src/workloads/operations/operation_build.h"

namespace hwprof {
namespace {

// Shape, rows and weights, the same for the layer alone and with the pooling merged into it.
Conv1dInput conv1d_input(OperationBuild& build) {
  const Conv1dShape shape{build.size("k"), build.size("d_e"), build.size("d_c")};
  const std::size_t batch = build.size("batch"), n = build.size("n");
  const float bound = fan_in_bound(shape.k * shape.d_e);
  return {.shape = shape,
          .row_start = build.starts(batch, n),
          .x = build.input(0, {batch, n, shape.d_e}),
          .w = build.uniform({shape.d_c, shape.k, shape.d_e}, 0, bound, "w", build.spec.seed),
          .bias = build.uniform({shape.d_c}, 0, bound, "bias", build.spec.seed),
          .team = build.team};
}

// The filters of `block` only.
Conv1dInput filters_of(Conv1dInput input, const CheckBlock& block) {
  input.w += block.first * input.shape.k * input.shape.d_e;
  input.bias += block.first;
  input.shape.d_c = block.channels;
  return input;
}

// Of the largest block of one document, a filter.
double multiply_adds(const Conv1dInput& input, std::size_t n) {
  return static_cast<double>(input.shape.k * input.shape.d_e) * static_cast<double>(n);
}

}  // namespace

void build_conv1d(OperationBuild& build) {
  const Conv1dVariant& variant = variant_named(conv1d_variants(), build.spec.variant);
  Conv1dCall call{.input = conv1d_input(build), .blas = build.blas};
  const Conv1dShape& shape = call.input.shape;
  const std::size_t batch = build.size("batch"), n = build.size("n"), positions = n - shape.k + 1;
  call.input.packed = build.pack(variant, shape, call.input.w, {shape.d_c, shape.k, shape.d_e});
  if (variant.scratch_floats != nullptr)
    call.scratch = build.zeros({positions, shape.k, shape.d_e});
  call.h = build.result({batch, positions, shape.d_c});
  if (build.dry) return;
  build.describe(variant, conv1d_cost(shape.k, shape.d_e, shape.d_c, batch * n, batch * positions));
  build.task.run = [call, run = variant.run] { run(call); };
  build.expected = [call, batch] {
    return expected_of_items(batch, [&](std::size_t b) { return conv1d_expected(call.input, b); });
  };
  build.task.check = [call, batch, n] {
    const std::size_t d_c = call.input.shape.d_c;
    double error = 0;
    for (const CheckBlock& block : check_blocks(batch, d_c, multiply_adds(call.input, n))) {
      const Expected expected = conv1d_expected(filters_of(call.input, block), block.item);
      error = std::max(error, block_error(expected, block, call.output(block.item), d_c));
    }
    return error;
  };
}

void build_conv1d_maxpool(OperationBuild& build) {
  const Conv1dMaxpoolVariant& variant =
      variant_named(conv1d_maxpool_variants(), build.spec.variant);
  Conv1dMaxpoolCall call{.input = conv1d_input(build)};
  const Conv1dShape& shape = call.input.shape;
  const std::size_t batch = build.size("batch"), n = build.size("n"), positions = n - shape.k + 1;
  call.input.packed = build.pack(variant, shape, call.input.w, {shape.d_c, shape.k, shape.d_e});
  call.g = build.result({batch, shape.d_c});
  call.g_stride = shape.d_c;
  if (build.dry) return;
  build.describe(variant, conv1d_maxpool_cost(shape.k, shape.d_e, shape.d_c, batch * n,
                                              batch * positions, batch));
  build.task.run = [call, run = variant.run] { run(call); };
  build.expected = [call, batch] {
    return expected_of_items(batch,
                             [&](std::size_t b) { return conv1d_maxpool_expected(call.input, b); });
  };
  build.task.check = [call, batch, n] {
    const std::size_t d_c = call.g_stride;
    double error = 0;
    for (const CheckBlock& block : check_blocks(batch, d_c, multiply_adds(call.input, n))) {
      const Expected expected = conv1d_maxpool_expected(filters_of(call.input, block), block.item);
      error = std::max(error, block_error(expected, block, call.output(block.item), d_c));
    }
    return error;
  };
}

void build_maxpool(OperationBuild& build) {
  const MaxpoolVariant& variant = variant_named(maxpool_variants(), build.spec.variant);
  const std::size_t batch = build.size("batch"), d_c = build.size("d_c");
  const std::size_t positions = build.size("n") - build.size("k") + 1;
  const MaxpoolCall call{.d_c = d_c,
                         .start = build.starts(batch, positions),
                         .h = build.input(0, {batch, positions, d_c}),
                         .g = build.result({batch, d_c}),
                         .g_stride = d_c,
                         .team = build.team};
  if (build.dry) return;
  build.describe(variant, maxpool_cost(d_c, batch * positions, batch));
  build.task.run = [call, run = variant.run] { run(call); };
  build.expected = [call] {
    return expected_of_items(call.documents(),
                             [&](std::size_t b) { return maxpool_expected(call, b); });
  };
  build.task.check = [call, positions] {
    double error = 0;
    for (const CheckBlock& block :
         check_blocks(call.documents(), 1, static_cast<double>(positions * call.d_c))) {
      error = std::max(
          error, max_relative_error(maxpool_expected(call, block.item), call.output(block.item)));
    }
    return error;
  };
}

void build_linear(OperationBuild& build) {
  const LinearVariant& variant = variant_named(linear_variants(), build.spec.variant);
  const LinearShape shape{build.size("d_c"), build.size("l")};
  const std::size_t batch = build.size("batch");
  const float bound = fan_in_bound(shape.inputs);
  LinearCall call{.shape = shape,
                  .documents = batch,
                  .g = build.input(0, {batch, shape.inputs}),
                  .a = build.uniform({shape.outputs, shape.inputs}, 0, bound, "w", build.spec.seed),
                  .c = build.uniform({shape.outputs}, 0, bound, "bias", build.spec.seed),
                  .z = build.result({batch, shape.outputs}),
                  .blas = build.blas,
                  .team = build.team};
  call.packed = build.pack(variant, shape, call.a, {shape.outputs, shape.inputs});
  if (build.dry) return;
  const bool one_document = variant.name == "blas-gemv";  // the weights travel for each of them
  build.describe(variant,
                 linear_cost(shape.inputs, shape.outputs, batch, one_document ? batch : 1));
  build.task.run = [call, run = variant.run] { run(call); };
  build.expected = [call] {
    return expected_of_items(call.documents,
                             [&](std::size_t b) { return linear_expected(call, b); });
  };
  build.task.check = [call] {
    const auto [inputs, outputs] = call.shape;
    double error = 0;
    for (const CheckBlock& block :
         check_blocks(call.documents, outputs, static_cast<double>(inputs))) {
      LinearCall part = call;
      part.a += block.first * inputs;
      part.c += block.first;
      part.shape.outputs = block.channels;
      error = std::max(error, block_error(linear_expected(part, block.item), block,
                                          call.z + block.item * outputs, outputs));
    }
    return error;
  };
}

}  // namespace hwprof
