// The layers of the text CNN, over documents of equal or of different length.
#include "src/workloads/operations/operation_build.h"

namespace hwprof {
namespace {

// Shape, rows and weights, the same for the layer alone and with the pooling merged into it.
Conv1dInput conv1d_input(OperationBuild& build) {
  const Conv1dShape shape{build.size("k"), build.size("d_e"), build.size("d_c")};
  const float bound = fan_in_bound(shape.k * shape.d_e);
  return {.shape = shape,
          .row_start = build.starts(1),
          .x = build.input(0, {build.rows(), shape.d_e}),
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

// Blocks of documents that are held against double precision.
std::vector<CheckBlock> blocks_of(const Conv1dInput& input) {
  const auto& [k, d_e, d_c] = input.shape;
  return document_blocks(input.row_start, d_c, static_cast<double>(k * d_e));
}

}  // namespace

void build_conv1d(OperationBuild& build) {
  const Conv1dVariant& variant = variant_named(conv1d_variants(), build.spec.variant);
  Conv1dCall call{.input = conv1d_input(build), .blas = build.blas};
  const Conv1dShape& shape = call.input.shape;
  const std::size_t batch = build.size("batch"), positions = build.rows() - batch * (shape.k - 1);
  call.input.packed = build.pack(variant, shape, call.input.w, {shape.d_c, shape.k, shape.d_e});
  if (variant.scratch_floats != nullptr) {
    call.scratch = build.zeros({build.size("n") - shape.k + 1, shape.k, shape.d_e}, "scratch");
  }
  call.h = build.result({positions, shape.d_c});
  if (build.dry || build.failure) return;
  build.describe(variant, conv1d_cost(shape.k, shape.d_e, shape.d_c, build.rows(), positions));
  build.task.run = [call, run = variant.run] { run(call); };
  build.expected = [call, batch] {
    return expected_of_items(batch, [&](std::size_t b) { return conv1d_expected(call.input, b); });
  };
  build.task.check = [call, memory = build.place.memory] {
    const std::size_t d_c = call.input.shape.d_c;
    const std::vector<CheckBlock> blocks = blocks_of(call.input);
    std::vector<Expected> own;
    std::vector<Expected>& expected = memory != nullptr ? memory->expected["conv1d"] : own;
    if (expected.empty()) {
      for (const CheckBlock& block : blocks) {
        expected.push_back(conv1d_expected(filters_of(call.input, block), block.item));
      }
    }
    double error = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const float* h = call.output(blocks[i].item);
      error = std::max(error, block_error(expected[i], blocks[i], h, d_c));
    }
    return error;
  };
}

void build_conv1d_maxpool(OperationBuild& build) {
  const Conv1dMaxpoolVariant& variant =
      variant_named(conv1d_maxpool_variants(), build.spec.variant);
  Conv1dMaxpoolCall call{.input = conv1d_input(build)};
  const Conv1dShape& shape = call.input.shape;
  const std::size_t batch = build.size("batch"), positions = build.rows() - batch * (shape.k - 1);
  call.input.packed = build.pack(variant, shape, call.input.w, {shape.d_c, shape.k, shape.d_e});
  call.g = build.result({batch, shape.d_c});
  call.g_stride = build.place.stride == 0 ? shape.d_c : build.place.stride;
  if (build.dry || build.failure) return;
  build.describe(
      variant, conv1d_maxpool_cost(shape.k, shape.d_e, shape.d_c, build.rows(), positions, batch));
  build.task.run = [call, run = variant.run] { run(call); };
  build.expected = [call, batch] {
    return expected_of_items(batch,
                             [&](std::size_t b) { return conv1d_maxpool_expected(call.input, b); });
  };
  build.task.check = [call] {
    const std::size_t d_c = call.input.shape.d_c;
    double error = 0;
    for (const CheckBlock& block : blocks_of(call.input)) {
      const Expected expected = conv1d_maxpool_expected(filters_of(call.input, block), block.item);
      error = std::max(error, block_error(expected, block, call.output(block.item), d_c));
    }
    return error;
  };
}

void build_maxpool(OperationBuild& build) {
  const MaxpoolVariant& variant = variant_named(maxpool_variants(), build.spec.variant);
  const std::size_t batch = build.size("batch"), d_c = build.size("d_c"), k = build.size("k");
  const std::size_t positions = build.rows() - batch * (k - 1);
  const MaxpoolCall call{.d_c = d_c,
                         .start = build.starts(k),
                         .h = build.input(0, {positions, d_c}),
                         .g = build.result({batch, d_c}),
                         .g_stride = build.place.stride == 0 ? d_c : build.place.stride,
                         .team = build.team};
  if (build.dry || build.failure) return;
  build.describe(variant, maxpool_cost(d_c, positions, batch));
  build.task.run = [call, run = variant.run] { run(call); };
  build.expected = [call] {
    return expected_of_items(call.documents(),
                             [&](std::size_t b) { return maxpool_expected(call, b); });
  };
  build.task.check = [call] {
    double error = 0;
    for (const CheckBlock& block : document_blocks(call.start, 1, static_cast<double>(call.d_c))) {
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
