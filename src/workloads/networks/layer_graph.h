// A network of layers as plain data, as a file or a table has it (LayerGraph), and with every
// reference, size and shape made out (Network). No weights, no memory: what can be judged without
// running anything is judged here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/workloads/operations/operation.h"

namespace hwprof {

using TensorShape = std::vector<std::uint64_t>;  // batch first, channels last: [1, 32, 32, 3]

struct Layer {
  std::string name;                 // unique: "block4.conv1"
  std::string op;                   // "conv2d"
  Sizes sizes;                      // those that do not follow from what it reads; others may
  std::vector<std::string> inputs;  // names of layers or kInputName; none: the layer before

  bool operator==(const Layer&) const = default;
};

struct LayerGraph {
  std::string name;
  TensorShape input;
  std::vector<Layer> layers;  // in the order of execution

  bool operator==(const LayerGraph&) const = default;
};

inline constexpr std::string_view kInputName = "input";  // of the network; no layer has this name
inline constexpr std::size_t kMaxLayers = 10'000;

struct NetworkLayer {
  std::string name;
  const OperationKind* kind = nullptr;
  Sizes sizes;                      // all
  std::vector<std::size_t> inputs;  // indices of layers; kNetworkInput
  TensorShape output;
  std::uint64_t seed = 0;  // of the weights
  std::optional<std::uint64_t> normalisation_seed;
};

inline constexpr std::size_t kNetworkInput = static_cast<std::size_t>(-1);

struct Network {
  std::string name;
  TensorShape input;
  std::vector<NetworkLayer> layers;
};

// Where a layer's key stands in a file: "line 7 of net.json"; empty where there is no file.
using PlaceOf = std::function<std::string(std::size_t layer, std::string_view key)>;

// Fault::kUsage names the layer, both layers and both shapes where two do not fit, and the place.
Result<Network> resolve(const LayerGraph& graph, std::uint64_t seed, const PlaceOf& place = {});

// Convolution, normalisation, an add and ReLU as one operation wherever nobody else reads what is
// between them; conv1d and max pooling likewise. A merged layer has the name of its convolution,
// its weights, and stands where the last of those merged stood.
Network fused(const Network& network);

std::string shape_text(const TensorShape& shape);  // "[1, 32, 32, 3]"

// ResNet20 for CIFAR-10, one image, as the layer table of the homework report has it
// (tests/data/resnet20_chainer.csv): a block is conv bn relu conv bn relu; only the two whose
// stride is 2 have a shortcut, a 1x1 convolution with bn on the block's input, and an add. So 66
// layers, 21 of them convolutions and 2 adds.
LayerGraph resnet20();

}  // namespace hwprof
