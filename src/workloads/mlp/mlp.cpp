#include "src/workloads/mlp/mlp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "counters/regions/region.h"
#include "kernels/check.h"
#include "kernels/ops/classifier.h"
#include "kernels/registry.h"
#include "kernels/tensor.h"
#include "src/workloads/inputs/random.h"

namespace hwprof {
namespace {

constexpr std::string_view kNames[] = {kReferenceName, "simd", "blas"};

// Of the registry, by name: what a variant of the network is made of.
struct Kernels {
  const LinearVariant* linear;
  const LinearGradWeightsVariant* grad_weights;
  const LinearGradInputVariant* grad_input;
  const ReluVariant* relu;
  const ReluBackwardVariant* relu_backward;
  const SoftmaxVariant* softmax;
  const SgdVariant* sgd;
};

template <class V>
const V* find(std::span<const V> table, std::string_view name) {
  return &*std::find_if(table.begin(), table.end(), [&](const V& v) { return v.name == name; });
}

Kernels kernels_of(std::string_view variant) {
  const std::string_view products = variant == "blas" ? "blas-gemm" : variant;
  const std::string_view others = variant == "blas" ? "simd" : variant;
  return {.linear = find(linear_variants(), products),
          .grad_weights = find(linear_grad_weights_variants(), products),
          .grad_input = find(linear_grad_input_variants(), products),
          .relu = find(relu_variants(), others),
          .relu_backward = find(relu_backward_variants(), others),
          .softmax = find(softmax_variants(), others),
          .sgd = find(sgd_variants(), others)};
}

// A linear layer and, in place behind it, ReLU or softmax.
struct MlpLayer {
  LinearShape shape;
  std::size_t weights_at = 0, bias_at = 0;  // in parameters and gradients
  FloatBuffer packed{}, y{}, dz{};
  std::string linear_name{}, relu_name{};  // of regions
};

void declare(Region& region, const Cost& cost) {
  region.declare({.flops = cost.flops, .bytes = cost.bytes});
}

}  // namespace

struct Mlp::State {
  MlpShape shape;
  Kernels kernels;
  const BlasLibrary* blas;
  ThreadTeam& team;
  std::vector<MlpLayer> layers{};
  FloatBuffer x{}, parameters{}, gradients{};
  std::size_t images = 0;  // of the last forward()

  const float* input_of(std::size_t l) { return l == 0 ? x.data() : layers[l - 1].y.data(); }

  LinearCall linear_call(std::size_t l, std::size_t documents) {
    MlpLayer& layer = layers[l];
    return {.shape = layer.shape,
            .documents = documents,
            .g = input_of(l),
            .a = parameters.data() + layer.weights_at,
            .packed = layer.packed.data(),
            .c = parameters.data() + layer.bias_at,
            .z = layer.y.data(),
            .blas = blas,
            .team = &team};
  }
  LinearGradWeightsCall grad_weights_call(std::size_t l, std::size_t documents) {
    MlpLayer& layer = layers[l];
    return {.shape = layer.shape,
            .documents = documents,
            .g = input_of(l),
            .dz = layer.dz.data(),
            .da = gradients.data() + layer.weights_at,
            .dc = gradients.data() + layer.bias_at,
            .blas = blas,
            .team = &team};
  }
  // Of a layer but the first: nobody asks for the gradient of the image.
  LinearGradInputCall grad_input_call(std::size_t l, std::size_t documents) {
    MlpLayer& layer = layers[l];
    return {.shape = layer.shape,
            .documents = documents,
            .a = parameters.data() + layer.weights_at,
            .dz = layer.dz.data(),
            .dg = layers[l - 1].dz.data(),
            .blas = blas,
            .team = &team};
  }

  // The weights have changed since the last call: packing them is part of the product.
  void run_linear(std::size_t l, std::size_t documents) {
    const LinearCall call = linear_call(l, documents);
    if (kernels.linear->pack != nullptr) {
      kernels.linear->pack(call.shape, call.a, layers[l].packed.data());
    }
    kernels.linear->run(call);
  }

  Result<void> allocate(std::uint64_t seed);
  template <class V, class Call>
  Task product(std::string_view op, const V& variant, const Call& call, const Cost& cost) const;
};

Result<void> Mlp::State::allocate(std::uint64_t seed) {
  std::size_t count = 0;
  for (std::size_t l = 0; l + 1 < shape.widths.size(); ++l) {
    MlpLayer& layer = layers.emplace_back();
    layer.shape = {shape.widths[l], shape.widths[l + 1]};
    layer.linear_name = fmt::format("linear{}", l + 1);
    layer.relu_name = fmt::format("relu{}", l + 1);
    layer.weights_at = count;
    layer.bias_at = count + layer.shape.inputs * layer.shape.outputs;
    count = layer.bias_at + layer.shape.outputs;
  }
  const auto take = [](FloatBuffer& to, std::size_t floats) -> Result<void> {
    Result<FloatBuffer> buffer = FloatBuffer::zeros(floats);
    if (!buffer) return error_of(buffer);
    to = *std::move(buffer);
    return {};
  };
  std::vector<std::pair<FloatBuffer*, std::size_t>> wanted = {
      {&x, shape.batch * shape.widths.front()}, {&parameters, count}, {&gradients, count}};
  for (MlpLayer& layer : layers) {
    wanted.emplace_back(&layer.y, shape.batch * layer.shape.outputs);
    wanted.emplace_back(&layer.dz, shape.batch * layer.shape.outputs);
    if (kernels.linear->packed_floats != nullptr) {
      wanted.emplace_back(&layer.packed, kernels.linear->packed_floats(layer.shape));
    }
  }
  for (const auto& [buffer, floats] : wanted) {
    if (auto done = take(*buffer, floats); !done) return done;
  }
  SplitMix64 random(seed);
  for (const MlpLayer& layer : layers) {
    const float bound = 1.0f / std::sqrt(static_cast<float>(layer.shape.inputs));
    const std::size_t end = layer.bias_at + layer.shape.outputs;
    for (std::size_t i = layer.weights_at; i < end; ++i) parameters[i] = random.symmetric(bound);
  }
  return {};
}

void Mlp::forward(std::size_t images) {
  State& s = *state_;
  s.images = images;
  for (std::size_t l = 0; l < s.layers.size(); ++l) {
    MlpLayer& layer = s.layers[l];
    const std::size_t outputs = images * layer.shape.outputs;
    {
      Region region(layer.linear_name);
      declare(region, linear_cost(layer.shape.inputs, layer.shape.outputs, images, 1));
      s.run_linear(l, images);
    }
    float* y = layer.y.data();
    if (l + 1 < s.layers.size()) {
      Region region(layer.relu_name);
      declare(region, relu_cost(outputs));
      s.kernels.relu->run({.count = outputs, .x = y, .y = y, .team = &s.team});
    } else {
      Region region("softmax");
      declare(region, softmax_cost(images, layer.shape.outputs));
      s.kernels.softmax->run(
          {.rows = images, .columns = layer.shape.outputs, .x = y, .y = y, .team = &s.team});
    }
  }
}

std::size_t Mlp::correct(std::span<const std::uint8_t> labels) const {
  const MlpLayer& last = state_->layers.back();
  const std::size_t classes = last.shape.outputs;
  std::size_t count = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const float* p = last.y.data() + i * classes;
    count += std::max_element(p, p + classes) - p == labels[i];
  }
  return count;
}

double Mlp::backward(std::span<const std::uint8_t> labels) {
  State& s = *state_;
  const std::size_t images = s.images;
  MlpLayer& last = s.layers.back();
  double loss = 0;
  {
    Region region("cross-entropy");
    declare(region, cross_entropy_cost(images, last.shape.outputs));
    loss = cross_entropy_backward({.rows = images,
                                   .columns = last.shape.outputs,
                                   .p = last.y.data(),
                                   .labels = labels.data(),
                                   .dz = last.dz.data()});
  }
  for (std::size_t l = s.layers.size(); l-- > 0;) {
    MlpLayer& layer = s.layers[l];
    const auto [inputs, outputs] = layer.shape;
    {
      Region region(layer.linear_name);
      declare(region, linear_grad_weights_cost(inputs, outputs, images));
      s.kernels.grad_weights->run(s.grad_weights_call(l, images));
      if (l > 0) {
        declare(region, linear_grad_input_cost(inputs, outputs, images));
        s.kernels.grad_input->run(s.grad_input_call(l, images));
      }
    }
    if (l == 0) break;
    MlpLayer& before = s.layers[l - 1];
    Region region(before.relu_name);
    declare(region, relu_backward_cost(images * inputs));
    s.kernels.relu_backward->run({.count = images * inputs,
                                  .y = before.y.data(),
                                  .dy = before.dz.data(),
                                  .dx = before.dz.data(),
                                  .team = &s.team});
  }
  return loss;
}

void Mlp::update(const Sgd& sgd) {
  State& s = *state_;
  Region region("sgd");
  declare(region, sgd_cost(s.parameters.size()));
  s.kernels.sgd->run({.count = s.parameters.size(),
                      .learning_rate = static_cast<float>(sgd.learning_rate),
                      .weight_decay = static_cast<float>(sgd.weight_decay),
                      .rescale = 1.0f / static_cast<float>(s.images),
                      .gradient = s.gradients.data(),
                      .w = s.parameters.data(),
                      .team = &s.team});
}

template <class V, class Call>
Task Mlp::State::product(std::string_view op, const V& variant, const Call& call,
                         const Cost& cost) const {
  return {.op = op,
          .variant = variant.name,
          .shape = {{"inputs", call.shape.inputs},
                    {"outputs", call.shape.outputs},
                    {"batch", shape.batch}},
          .cost = cost,
          .optimised = variant.name != kReferenceName,
          .needs_blas = variant.needs_blas,
          .run = [call, run = variant.run] { run(call); },
          .check = {},
          .reason = {}};
}

std::vector<Task> Mlp::tasks() {
  State& s = *state_;
  const std::size_t batch = s.shape.batch;
  std::vector<Task> tasks;
  for (std::size_t l = 0; l < s.layers.size(); ++l) {
    const auto [inputs, outputs] = s.layers[l].shape;
    const LinearCall linear = s.linear_call(l, batch);
    Task& forward = tasks.emplace_back(
        s.product("linear", *s.kernels.linear, linear, linear_cost(inputs, outputs, batch, 1)));
    forward.run = [&s, l, batch] { s.run_linear(l, batch); };
    forward.check = [linear] {
      double error = 0;
      for (std::size_t b = 0; b < linear.documents; ++b) {
        error = std::max(error, max_relative_error(linear_expected(linear, b),
                                                   linear.z + b * linear.shape.outputs));
      }
      return error;
    };
    const LinearGradWeightsCall weights = s.grad_weights_call(l, batch);
    tasks
        .emplace_back(s.product("linear-grad-weights", *s.kernels.grad_weights, weights,
                                linear_grad_weights_cost(inputs, outputs, batch)))
        .check = [weights] {
      return std::max(max_relative_error(linear_grad_weights_expected(weights), weights.da),
                      max_relative_error(linear_grad_bias_expected(weights), weights.dc));
    };
    if (l == 0) continue;
    const LinearGradInputCall input = s.grad_input_call(l, batch);
    tasks
        .emplace_back(s.product("linear-grad-input", *s.kernels.grad_input, input,
                                linear_grad_input_cost(inputs, outputs, batch)))
        .check = [input] {
      return max_relative_error(linear_grad_input_expected(input), input.dg);
    };
  }
  return tasks;
}

std::span<const std::string_view> mlp_variants() { return kNames; }

bool mlp_needs_blas(std::string_view variant) { return kernels_of(variant).linear->needs_blas; }

const std::vector<report::PassVariants>& mlp_passes() {
  static const std::vector<report::PassVariants> passes = [] {
    std::vector<report::PassVariants> all;
    for (const std::string_view name : kNames) {
      const std::string product(kernels_of(name).linear->name);
      all.push_back({std::string(name),
                     {{"linear", product},
                      {"linear-grad-weights", product},
                      {"linear-grad-input", product}}});
    }
    return all;
  }();
  return passes;
}

Mlp::Mlp(std::unique_ptr<State> state) : state_(std::move(state)) {}
Mlp::Mlp(Mlp&&) noexcept = default;
Mlp& Mlp::operator=(Mlp&&) noexcept = default;
Mlp::~Mlp() = default;

const MlpShape& Mlp::shape() const { return state_->shape; }
std::span<float> Mlp::input() { return state_->x.span(); }
std::span<float> Mlp::parameters() { return state_->parameters.span(); }
std::span<const float> Mlp::gradients() const { return state_->gradients.span(); }

Result<Mlp> Mlp::create(const MlpShape& shape, std::string_view variant, const BlasLibrary* blas,
                        ThreadTeam& team, std::uint64_t seed) {
  auto state = std::unique_ptr<State>(
      new State{.shape = shape, .kernels = kernels_of(variant), .blas = blas, .team = team});
  if (auto done = state->allocate(seed); !done) return error_of(done);
  return Mlp(std::move(state));
}

}  // namespace hwprof
