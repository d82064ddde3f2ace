// The layers of ResNet20 that work on maps: convolution, normalisation, pooling.
#include "src/workloads/operations/operation_build.h"

namespace hwprof {
namespace {

Conv2dShape conv2d_shape(const OperationBuild& build) {
  return {build.size("height"), build.size("width"),  build.size("c_in"),
          build.size("c_out"),  build.size("kernel"), build.size("stride")};
}

// He's bound for layers with ReLU: what comes out is as large as what went in, at any depth.
const float* conv2d_weights(OperationBuild& build, const Conv2dShape& shape) {
  const float bound = std::sqrt(6.0F) * fan_in_bound(shape.depth());
  return build.uniform({shape.c_out, shape.depth()}, 0, bound, "w", build.spec.seed);
}

// Near those of a trained layer: none is 0, and no two are alike.
BatchnormParameters batchnorm_parameters(OperationBuild& build, std::size_t channels,
                                         std::uint64_t seed) {
  return {.gamma = build.uniform({channels}, 1, 0.5F, "gamma", seed),
          .beta = build.uniform({channels}, 0, 0.1F, "beta", seed),
          .mean = build.uniform({channels}, 0, 0.1F, "mean", seed),
          .variance = build.uniform({channels}, 1, 0.5F, "variance", seed)};
}

double multiply_adds(const Conv2dShape& shape) {
  return static_cast<double>(shape.out_pixels()) * static_cast<double>(shape.depth());
}

std::size_t in_floats(const Conv2dShape& shape) { return shape.height * shape.width * shape.c_in; }

}  // namespace

void build_conv2d(OperationBuild& build) {
  const Conv2dVariant& variant = variant_named(conv2d_variants(), build.spec.variant);
  const Conv2dShape shape = conv2d_shape(build);
  const std::size_t batch = build.size("batch");
  Conv2dCall call{.shape = shape,
                  .images = batch,
                  .x = build.input(0, {batch, shape.height, shape.width, shape.c_in}),
                  .w = conv2d_weights(build, shape),
                  .y = build.result({batch, shape.out_height(), shape.out_width(), shape.c_out}),
                  .blas = build.blas,
                  .team = build.team};
  call.packed = build.pack(variant, shape, call.w, {shape.c_out, shape.depth()});
  if (variant.scratch_floats != nullptr) {
    call.scratch = build.zeros({shape.out_height(), shape.out_width(), shape.depth()});
  }
  if (build.dry) return;
  build.describe(variant, conv2d_cost(shape, batch));
  build.expected = [call] { return conv2d_expected(call); };
  build.task.run = [call, run = variant.run] { run(call); };
  build.task.check = [call] {
    const Conv2dShape& whole = call.shape;
    double error = 0;
    for (const CheckBlock& block : check_blocks(call.images, whole.c_out, multiply_adds(whole))) {
      Conv2dCall part = call;
      part.images = 1;
      part.x += block.item * in_floats(whole);
      part.w += block.first * whole.depth();
      part.shape.c_out = block.channels;
      const float* y = call.y + block.item * whole.out_pixels() * whole.c_out;
      error = std::max(error, block_error(conv2d_expected(part), block, y, whole.c_out));
    }
    return error;
  };
}

void build_conv2d_bn_relu(OperationBuild& build) {
  const Conv2dBnReluVariant& variant = variant_named(conv2d_bn_relu_variants(), build.spec.variant);
  const Conv2dShape shape = conv2d_shape(build);
  const std::size_t batch = build.size("batch");
  const bool add = build.size("add") != 0, relu = build.size("relu") != 0;
  const std::initializer_list<std::size_t> outputs = {batch, shape.out_height(), shape.out_width(),
                                                      shape.c_out};
  Conv2dBnReluCall call{
      .shape = shape,
      .images = batch,
      .x = build.input(0, {batch, shape.height, shape.width, shape.c_in}),
      .weights = {conv2d_weights(build, shape),
                  batchnorm_parameters(build, shape.c_out,
                                       build.spec.normalisation_seed.value_or(build.spec.seed))},
      .addend = add ? build.input(1, outputs) : nullptr,
      .relu = relu,
      .y = build.result(outputs),
      .team = build.team};
  call.packed = build.pack(variant, shape, call.weights, {shape.c_out, shape.depth()});
  if (build.dry) return;
  build.describe(variant, conv2d_bn_relu_cost(shape, batch, add, relu));
  build.expected = [call] { return conv2d_bn_relu_expected(call); };
  build.task.run = [call, run = variant.run] { run(call); };
  // Image by image; the addend stands in the way of taking filters apart.
  build.task.check = [call] {
    const Conv2dShape& whole = call.shape;
    const std::size_t floats = whole.out_pixels() * whole.c_out;
    const double cost = multiply_adds(whole) * static_cast<double>(whole.c_out);
    return items_error(call.images, floats, cost, call.y, [&](std::size_t image) {
      Conv2dBnReluCall part = call;
      part.images = 1;
      part.x += image * in_floats(whole);
      if (part.addend != nullptr) part.addend += image * floats;
      return conv2d_bn_relu_expected(part);
    });
  };
}

void build_batchnorm(OperationBuild& build) {
  const BatchnormVariant& variant = variant_named(batchnorm_variants(), build.spec.variant);
  const std::size_t batch = build.size("batch"), pixels = build.size("pixels");
  const std::size_t channels = build.size("channels");
  const BatchnormCall call{.pixels = batch * pixels,
                           .channels = channels,
                           .x = build.input(0, {batch, pixels, channels}),
                           .bn = batchnorm_parameters(build, channels, build.spec.seed),
                           .y = build.result({batch, pixels, channels}),
                           .team = build.team};
  if (build.dry) return;
  build.describe(variant, batchnorm_cost(call.pixels, channels));
  build.expected = [call] { return batchnorm_expected(call); };
  build.task.run = [call, run = variant.run] { run(call); };
  constexpr double kSquareRoot = 20;  // as long as so many multiply-adds
  build.task.check = items_check(call, &BatchnormCall::pixels, channels, channels,
                                 kSquareRoot * static_cast<double>(channels), batchnorm_expected);
}

void build_average_pool(OperationBuild& build) {
  const AveragePoolVariant& variant = variant_named(average_pool_variants(), build.spec.variant);
  const std::size_t batch = build.size("batch"), pixels = build.size("pixels");
  const std::size_t channels = build.size("channels");
  const AveragePoolCall call{.images = batch,
                             .pixels = pixels,
                             .channels = channels,
                             .x = build.input(0, {batch, pixels, channels}),
                             .y = build.result({batch, channels}),
                             .team = build.team};
  if (build.dry) return;
  build.describe(variant, average_pool_cost(batch, pixels, channels));
  build.expected = [call] { return average_pool_expected(call); };
  build.task.run = [call, run = variant.run] { run(call); };
  const std::size_t floats = pixels * channels;
  build.task.check = items_check(call, &AveragePoolCall::images, floats, channels,
                                 static_cast<double>(floats), average_pool_expected);
}

}  // namespace hwprof
