#include "bench/resnet20.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <utility>

#include "bench/case.h"
#include "bench/onednn.h"
#include "kernels/complexity.h"
#include "kernels/registry.h"

namespace hwprof::bench {

Result<ConvLayer> make_conv_layer(const Conv2dShape& shape, bool relu) {
  ConvLayer layer;
  layer.shape = shape;
  layer.relu = relu;
  const std::size_t depth = shape.depth();
  const float bound = 1.7f / std::sqrt(static_cast<float>(depth));  // keeps activations near 1
  for (auto& [buffer, count] :
       {std::pair{&layer.w, shape.c_out * depth}, std::pair{&layer.folded_w, shape.c_out * depth},
        std::pair{&layer.gamma, shape.c_out}, std::pair{&layer.beta, shape.c_out},
        std::pair{&layer.mean, shape.c_out}, std::pair{&layer.variance, shape.c_out},
        std::pair{&layer.folded_bias, shape.c_out}}) {
    Result<FloatBuffer> made = random_floats(count, bound);
    if (!made) return error_of(made);
    *buffer = std::move(*made);
  }
  for (float& value : layer.gamma.span()) value += 1;
  for (float& value : layer.variance.span()) value += 1;
  const Conv2dWeights weights = layer.weights();
  for (std::size_t j = 0; j < shape.c_out; ++j) {
    const Affine affine = batchnorm_affine(weights.bn, j);
    for (std::size_t i = 0; i < depth; ++i) {
      layer.folded_w[j * depth + i] = layer.w[j * depth + i] * affine.scale;
    }
    layer.folded_bias[j] = affine.shift;
  }
  return layer;
}

double Resnet20::flops() const {
  double flops = 2.0 * kFeatures * kClasses;
  const auto add = [&flops](const ConvLayer& layer) { flops += conv2d_cost(layer.shape, 1).flops; };
  add(stem);
  for (const Block& block : blocks) {
    add(block.first);
    add(block.second);
    if (block.shortcut) add(*block.shortcut);
  }
  return flops;
}

Result<Resnet20> make_resnet20() {
  Resnet20 net;
  Error failure;
  bool failed = false;
  const auto layer = [&](const Conv2dShape& shape, bool relu) {
    Result<ConvLayer> made = make_conv_layer(shape, relu);
    if (made) return std::move(*made);
    failed = true;
    failure = made.error();
    return ConvLayer{};
  };
  const auto floats = [&](std::size_t count, float bound) {
    Result<FloatBuffer> made = random_floats(count, bound);
    if (made) return std::move(*made);
    failed = true;
    failure = made.error();
    return FloatBuffer{};
  };
  std::size_t side = 32, c_in = 16;
  net.image = floats(side * side * 3, 1);
  net.stem = layer({side, side, 3, 16, 3, 1}, true);
  for (const std::size_t c_out : {16, 32, 64}) {
    for (int i = 0; i < 3; ++i) {
      const std::size_t stride = c_out != c_in ? 2 : 1, out_side = side / stride;
      Block block;
      block.first = layer({side, side, c_in, c_out, 3, stride}, true);
      block.second = layer({out_side, out_side, c_out, c_out, 3, 1}, true);
      if (stride != 1) block.shortcut = layer({side, side, c_in, c_out, 1, stride}, false);
      net.blocks.push_back(std::move(block));
      side = out_side;
      c_in = c_out;
    }
  }
  net.linear_w = floats(kClasses * kFeatures, 0.2f);
  net.linear_c = floats(kClasses, 0.2f);
  if (failed) return tl::make_unexpected(failure);
  return net;
}

namespace {

const Conv2dBnReluVariant& fused_variant() { return conv2d_bn_relu_variants().back(); }

// Packed weights, output and a ready call of one layer.
struct OurLayer {
  FloatBuffer packed, y;
  Conv2dBnReluCall call;
};

Result<OurLayer> our_layer(const ConvLayer& layer, const float* x) {
  const Conv2dBnReluVariant& fused = fused_variant();
  Result<FloatBuffer> packed = FloatBuffer::zeros(fused.packed_floats(layer.shape));
  if (!packed) return error_of(packed);
  Result<FloatBuffer> y = FloatBuffer::zeros(layer.outputs());
  if (!y) return error_of(y);
  fused.pack(layer.shape, layer.weights(), packed->data());
  OurLayer ours{std::move(*packed), std::move(*y), {}};
  ours.call = {.shape = layer.shape,
               .images = 1,
               .x = x,
               .weights = layer.weights(),
               .packed = ours.packed.data(),
               .relu = layer.relu,
               .y = ours.y.data(),
               .team = &one_thread()};
  return ours;
}

struct OurNet {
  Resnet20 net;
  std::vector<OurLayer> layers{};  // in order of execution
  FloatBuffer g{}, packed{}, z{};
  AveragePoolCall pool{};
  LinearCall linear{};

  void run() const {
    for (const OurLayer& layer : layers) fused_variant().run(layer.call);
    average_pool_simd(pool);
    linear_simd(linear);
  }
};

Result<void> build(OurNet& ours) {
  Error failure;
  bool failed = false;
  // Returns the layer's output.
  const auto add = [&](const ConvLayer& layer, const float* x, const float* addend) -> float* {
    Result<OurLayer> made = our_layer(layer, x);
    if (!made) {
      failed = true;
      failure = made.error();
      return nullptr;
    }
    made->call.addend = addend;
    ours.layers.push_back(std::move(*made));
    return ours.layers.back().y.data();
  };
  const float* h = add(ours.net.stem, ours.net.image.data(), nullptr);
  for (const Block& block : ours.net.blocks) {
    const float* shortcut = block.shortcut ? add(*block.shortcut, h, nullptr) : nullptr;
    const float* middle = add(block.first, h, nullptr);
    h = add(block.second, middle, shortcut);
  }
  const LinearShape shape{kFeatures, kClasses};
  for (auto& [buffer, count] :
       {std::pair{&ours.g, kFeatures}, std::pair{&ours.packed, linear_simd_packed_floats(shape)},
        std::pair{&ours.z, kClasses}}) {
    Result<FloatBuffer> made = FloatBuffer::zeros(count);
    if (!made) return error_of(made);
    *buffer = std::move(*made);
  }
  if (failed) return tl::make_unexpected(failure);
  linear_simd_pack(shape, ours.net.linear_w.data(), ours.packed.data());
  ours.pool = {.images = 1,
               .pixels = kLastPixels,
               .channels = kFeatures,
               .x = h,
               .y = ours.g.data(),
               .team = &one_thread()};
  ours.linear = {.shape = shape,
                 .documents = 1,
                 .g = ours.g.data(),
                 .a = ours.net.linear_w.data(),
                 .packed = ours.packed.data(),
                 .c = ours.net.linear_c.data(),
                 .z = ours.z.data(),
                 .team = &one_thread()};
  return {};
}

void add_onednn(Prepared& prepared, const std::string& name, const Result<OnednnWork>& work,
                std::span<const float> expected) {
  if (work) {
    add_peer(prepared, name, work->run, work->output, expected);
  } else {
    add_absent(prepared, name, work.error());
  }
}

Result<Prepared> prepare_resnet20(Peers& peers) {
  Result<Resnet20> net = make_resnet20();
  if (!net) return error_of(net);
  auto ours = std::make_shared<OurNet>(OurNet{.net = std::move(*net)});
  if (const Result<void> ready = build(*ours); !ready) return error_of(ready);
  Prepared prepared;
  prepared.flops = ours->net.flops();
  add_ours(prepared, "fused", [ours] { ours->run(); });
  add_onednn(prepared, "onednn", onednn_resnet20(ours->net), ours->z.span());
  add_torch(prepared, peers, R"({"op": "resnet20"})");
  return prepared;
}

Result<Prepared> prepare_conv2d(const Conv2dShape& shape, Peers& peers) {
  struct Data {
    ConvLayer layer;
    FloatBuffer x;
    OurLayer ours{};
  };
  const bool relu = shape.kernel == 3;  // a shortcut has none
  Result<ConvLayer> layer = make_conv_layer(shape, relu);
  if (!layer) return error_of(layer);
  Result<FloatBuffer> x = random_floats(shape.height * shape.width * shape.c_in, 1);
  if (!x) return error_of(x);
  auto data = std::make_shared<Data>(Data{.layer = std::move(*layer), .x = std::move(*x)});
  Result<OurLayer> ours = our_layer(data->layer, data->x.data());
  if (!ours) return error_of(ours);
  data->ours = std::move(*ours);
  Prepared prepared;
  prepared.flops = conv2d_cost(shape, 1).flops;
  add_ours(prepared, "fused", [data] { fused_variant().run(data->ours.call); });
  add_onednn(prepared, "onednn", onednn_conv2d(data->layer, data->x.data()), data->ours.y.span());
  add_torch(prepared, peers,
            fmt::format(R"({{"op": "conv2d", "kernel": {}, "stride": {}, "c_in": {}, "c_out": {}, )"
                        R"("side": {}, "relu": {}}})",
                        shape.kernel, shape.stride, shape.c_in, shape.c_out, shape.width, relu));
  return prepared;
}

constexpr Conv2dShape kConvolutions[] = {
    {32, 32, 3, 16, 3, 1},  {32, 32, 16, 16, 3, 1}, {32, 32, 16, 32, 3, 2}, {32, 32, 16, 32, 1, 2},
    {16, 16, 32, 32, 3, 1}, {16, 16, 32, 64, 3, 2}, {16, 16, 32, 64, 1, 2}, {8, 8, 64, 64, 3, 1},
};

}  // namespace

void add_resnet20_cases(std::vector<Case>& cases) {
  for (const Conv2dShape& shape : kConvolutions) {
    cases.push_back({fmt::format("conv2d/{}x{}/{}to{}/stride:{}/side:{}", shape.kernel,
                                 shape.kernel, shape.c_in, shape.c_out, shape.stride, shape.width),
                     "", [shape](Peers& peers) { return prepare_conv2d(shape, peers); }});
  }
  cases.push_back({"resnet20", "", prepare_resnet20});
}

}  // namespace hwprof::bench
