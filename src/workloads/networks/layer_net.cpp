#include "src/workloads/networks/layer_net.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/registry.h"
#include "src/workloads/inputs/random.h"
#include "src/workloads/networks/layer_shapes.h"

namespace hwprof {
namespace {

std::string variant_of(const OperationKind& kind, const NetForm& form) {
  const std::vector<std::string_view> known = kind.variants();
  for (const std::string_view name : form.preferred) {
    if (std::find(known.begin(), known.end(), name) != known.end()) return std::string(name);
  }
  return std::string(known.back());  // the view that a reshape is
}

OperationSpec spec_of(const NetworkLayer& layer, const NetForm& form) {
  return {.op = std::string(layer.kind->name),
          .variant = variant_of(*layer.kind, form),
          .sizes = layer.sizes,
          .seed = layer.seed,
          .normalisation_seed = layer.normalisation_seed};
}

const NetForm& reference_form() {
  const auto& forms = net_forms();
  return *std::find_if(forms.begin(), forms.end(),
                       [](const NetForm& form) { return form.name == kReferenceName; });
}

}  // namespace

const std::vector<NetForm>& net_forms() {
  static const std::vector<NetForm> forms = {
      {"eager", "each layer its own, by hwprof's SIMD kernels", false, {"simd", "fused"}},
      {"fused", "convolution, normalisation, add and ReLU in one pass", true, {"fused", "simd"}},
      {"blas",
       "convolution and linear layer by the BLAS, the rest as in eager",
       false,
       {"blas-im2col", "blas-gemm", "simd", "fused"}},
      {kReferenceName, "each layer its own, by naive loops", false, {kReferenceName}},
  };
  return forms;
}

Result<LayerNet> LayerNet::create(const Network& network, const NetForm& form,
                                  std::span<const float> input, const BlasLibrary* blas,
                                  const std::string& no_blas_reason, ThreadTeam& team,
                                  std::deque<LayerMemory>* memory) {
  LayerNet net;
  net.form_ = &form;
  net.network_ = form.fused ? fused(network) : network;
  for (const NetworkLayer& layer : net.network_.layers) {
    std::vector<std::span<const float>> inputs;
    for (const std::size_t i : layer.inputs) {
      inputs.push_back(i == kNetworkInput ? input : net.layers_[i].output());
    }
    Result<Operation> operation =
        Operation::create(spec_of(layer, form), inputs, blas, no_blas_reason, team,
                          {.memory = memory == nullptr ? nullptr : &memory->emplace_back()});
    if (!operation) return error_of(operation);
    if (!operation->task().run) net.reason_ = operation->task().reason;
    net.layers_.push_back(std::move(*operation));
  }
  return net;
}

double LayerNet::bytes_needed(const Network& network, const NetForm& form) {
  double bytes = 0;
  const Network run = form.fused ? fused(network) : network;
  for (const NetworkLayer& layer : run.layers) {
    bytes += hwprof::bytes_needed(spec_of(layer, form), false);
  }
  return bytes;
}

Cost LayerNet::cost() const {
  Cost sum;
  for (const Operation& layer : layers_) {
    const Cost& cost = layer.task().cost;
    sum.flops += cost.flops;
    sum.comparisons += cost.comparisons;
    sum.bytes += cost.bytes;
    sum.working_set_bytes += cost.working_set_bytes;
    sum.cost_units += cost.cost_units;
  }
  return sum;
}

void LayerNet::run() const {
  for (const Operation& layer : layers_) layer.task().run();
}

Result<FloatBuffer> network_input(const Network& network, std::uint64_t seed) {
  Result<FloatBuffer> input = FloatBuffer::zeros(elements(network.input));
  if (!input) return input;
  SplitMix64 random(seed ^ hash_text(kInputName));
  constexpr float kHalf = 1U << 23;
  for (float& value : input->span()) {
    value = (static_cast<float>(random.below(1U << 24)) - kHalf) / kHalf;
  }
  return input;
}

Result<std::vector<double>> expected_output(const Network& network, std::span<const float> input,
                                            ThreadTeam& team) {
  std::vector<FloatBuffer> rounded;
  std::vector<double> last;
  for (const NetworkLayer& layer : network.layers) {
    std::vector<std::span<const float>> inputs;
    for (const std::size_t i : layer.inputs) {
      inputs.push_back(i == kNetworkInput ? input : std::as_const(rounded[i]).span());
    }
    const Result<Operation> operation =
        Operation::create(spec_of(layer, reference_form()), inputs, nullptr, "", team);
    if (!operation) return error_of(operation);
    last = operation->expected().value;
    Result<FloatBuffer> output = FloatBuffer::zeros(last.size());
    if (!output) return error_of(output);
    for (std::size_t i = 0; i < last.size(); ++i) (*output)[i] = static_cast<float>(last[i]);
    rounded.push_back(std::move(*output));
  }
  return last;
}

double output_error(const std::vector<double>& expected, std::span<const float> got) {
  double error = 0, scale = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::abs(got[i] - expected[i]);
    if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
    error = std::max(error, difference);
    scale = std::max(scale, std::abs(expected[i]));
  }
  return error == 0 ? 0 : error / scale;
}

}  // namespace hwprof
