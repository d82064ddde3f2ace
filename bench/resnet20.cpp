// The convolutions of ResNet20, and all of it, on one image: conv, normalisation, add and ReLU in
// one pass, as the fused form of the workload has it.
#include <fmt/format.h>

#include <deque>
#include <memory>
#include <utility>

#include "bench/case.h"
#include "kernels/complexity.h"
#include "src/workloads/networks/layer_graph.h"
#include "src/workloads/networks/layer_net.h"

namespace hwprof::bench {
namespace {

const NetForm& fused_form() {
  for (const NetForm& form : net_forms()) {
    if (form.fused) return form;
  }
  return net_forms().front();
}

// What comparisons are made of: convolutions and the linear layer.
double flops_of(const Network& network) {
  double flops = 0;
  for (const NetworkLayer& layer : network.layers) {
    if (layer.kind->name == "conv2d") flops += conv2d_cost(conv2d_shape(layer.sizes), 1).flops;
    if (layer.kind->name == "linear") {
      flops += 2.0 * static_cast<double>(size_of(layer.sizes, "d_c") * size_of(layer.sizes, "l"));
    }
  }
  return flops;
}

Result<Prepared> prepare_resnet20(Peers& peers) {
  struct Ours {
    FloatBuffer image;
    std::deque<LayerMemory> memory{};
    std::optional<LayerNet> net{};
  };
  TRY(const Network network, resolve(resnet20(), 0));
  TRY(FloatBuffer image, network_input(network, 0));
  const auto ours = std::make_shared<Ours>(Ours{.image = std::move(image)});
  const std::span<const float> input = std::as_const(ours->image).span();
  TRY(ours->net, LayerNet::create(network, fused_form(), input, nullptr, "no BLAS", one_thread(),
                                  &ours->memory));
  Prepared prepared;
  prepared.keep = ours;
  prepared.flops = flops_of(network);
  prepared.row = {ours->net->cost(), {{"batch", 1}}};
  add_ours(prepared, "fused", [net = &*ours->net] { net->run(); });
  TRY(const std::vector<double> expected, expected_output(network, input, one_thread()));
  const double error = output_error(expected, ours->net->output());
  if (error > kLargestError) {
    return environment_error(0, fmt::format("ours is wrong by {:.2g}", error));
  }
  add_onednn(prepared, onednn_network(*ours->net, input, ours->memory), ours->net->output());
  add_torch(prepared, peers, R"({"op": "resnet20"})");
  return prepared;
}

Result<Prepared> prepare_conv2d(const Conv2dShape& shape, Peers& peers) {
  const bool relu = shape.kernel == 3;  // a shortcut has none
  const auto layer = std::make_shared<Layer>();
  TRY(const Operation* ours, layer->add({.op = "conv2d-bn-relu",
                                         .variant = "fused",
                                         .sizes = {{"height", shape.height},
                                                   {"width", shape.width},
                                                   {"c_in", shape.c_in},
                                                   {"c_out", shape.c_out},
                                                   {"kernel", shape.kernel},
                                                   {"stride", shape.stride},
                                                   {"batch", 1},
                                                   {"add", 0},
                                                   {"relu", relu ? 1U : 0U}}},
                                        nullptr));
  Prepared prepared;
  prepared.keep = layer;
  prepared.flops = conv2d_cost(shape, 1).flops;
  prepared.row = {ours->task().cost, ours->task().shape};
  TRY(start_with_ours(prepared, "fused", *ours));
  add_onednn(prepared, onednn_conv2d(ours->task().shape, layer->memory), ours->output());
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
    cases.push_back({fmt::format("conv2d-bn-relu/{}x{}/{}to{}/stride:{}/side:{}", shape.kernel,
                                 shape.kernel, shape.c_in, shape.c_out, shape.stride, shape.width),
                     "", [shape](Peers& peers) { return prepare_conv2d(shape, peers); }});
  }
  cases.push_back({"resnet20", "", prepare_resnet20});
}

}  // namespace hwprof::bench
