// The pass that merges layers. Pure: a network in, a network out.
#include <algorithm>

#include "src/workloads/networks/layer_graph.h"

namespace hwprof {
namespace {

class Fusion {
 public:
  explicit Fusion(const Network& network)
      : network_(network), layers_(network.layers), merged_into_(layers_.size()) {
    readers_.resize(layers_.size());
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      merged_into_[i] = i;
      for (const std::size_t input : layers_[i].inputs) {
        if (input != kNetworkInput) readers_[input].push_back(i);
      }
    }
  }

  Network run() {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (layers_[i].kind->name == "conv2d") merge_conv2d(i);
      if (layers_[i].kind->name == "conv1d") merge_conv1d(i);
    }
    return compacted();
  }

 private:
  // The only layer that reads `layer`, once, if that is an `op` that is not merged yet.
  [[nodiscard]] std::optional<std::size_t> sole_reader(std::size_t layer,
                                                       std::string_view op) const {
    const std::vector<std::size_t>& readers = readers_[layer];
    if (readers.size() != 1 || layers_[readers[0]].kind->name != op) return std::nullopt;
    if (merged_into_[readers[0]] != readers[0]) return std::nullopt;
    return readers[0];
  }

  void merge_conv2d(std::size_t conv) {
    const auto norm = sole_reader(conv, "batchnorm");
    if (!norm) return;
    NetworkLayer whole = network_.layers[conv];
    whole.kind = find_operation("conv2d-bn-relu");
    whole.normalisation_seed = network_.layers[*norm].seed;
    std::size_t last = *norm;
    bool add = false, relu = false;
    std::vector<std::size_t> parts = {conv, *norm};
    if (const auto sum = sole_reader(last, "add")) {
      const std::vector<std::size_t>& summands = network_.layers[*sum].inputs;
      whole.inputs.push_back(summands[0] == last ? summands[1] : summands[0]);
      add = true;
      last = *sum;
      parts.push_back(last);
    }
    if (const auto rectified = sole_reader(last, "relu")) {
      relu = true;
      last = *rectified;
      parts.push_back(last);
    }
    whole.sizes.emplace_back("relu", relu);
    whole.sizes.emplace_back("add", add);
    replace(parts, last, std::move(whole));
  }

  void merge_conv1d(std::size_t conv) {
    const auto pool = sole_reader(conv, "maxpool");
    if (!pool) return;
    NetworkLayer whole = network_.layers[conv];
    whole.kind = find_operation("conv1d-maxpool");
    whole.output = network_.layers[*pool].output;
    replace({conv, *pool}, *pool, std::move(whole));
  }

  void replace(const std::vector<std::size_t>& parts, std::size_t last, NetworkLayer whole) {
    for (const std::size_t part : parts) merged_into_[part] = last;
    layers_[last] = std::move(whole);
  }

  // Without the layers that went into others, and with the indices of what is left.
  [[nodiscard]] Network compacted() const {
    Network out{.name = network_.name, .input = network_.input, .layers = {}};
    std::vector<std::size_t> index(layers_.size());
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (merged_into_[i] != i) continue;
      index[i] = out.layers.size();
      out.layers.push_back(layers_[i]);
      for (std::size_t& input : out.layers.back().inputs) {
        if (input != kNetworkInput) input = index[merged_into_[input]];
      }
    }
    return out;
  }

  const Network& network_;
  std::vector<NetworkLayer> layers_;
  std::vector<std::size_t> merged_into_;  // itself: it stays, or others went into it
  std::vector<std::vector<std::size_t>> readers_;
};

}  // namespace

Network fused(const Network& network) { return Fusion(network).run(); }

}  // namespace hwprof
