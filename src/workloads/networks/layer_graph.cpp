#include "src/workloads/networks/layer_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "src/base/suggest.h"
#include "src/workloads/inputs/random.h"
#include "src/workloads/networks/layer_shapes.h"

namespace hwprof {
namespace {

class Resolver {
 public:
  Resolver(const LayerGraph& graph, std::uint64_t seed, const PlaceOf& place)
      : graph_(graph), seed_(seed), place_(place) {}

  Result<Network> run() {
    if (auto fits = check_whole(); !fits) return error_of(fits);
    network_.name = graph_.name;
    network_.input = graph_.input;
    for (at_ = 0; at_ < graph_.layers.size(); ++at_) {
      if (auto done = resolve_layer(graph_.layers[at_]); !done) return error_of(done);
    }
    return std::move(network_);
  }

 private:
  // A mistake in `key` of the layer at hand.
  [[nodiscard]] tl::unexpected<Error> wrong(std::string_view key, std::string what,
                                            std::string hint = {}) const {
    const std::string place = place_ ? place_(at_, key) : std::string();
    return usage_error(place.empty() ? std::move(what) : fmt::format("{}: {}", place, what),
                       std::move(hint));
  }

  Result<void> check_whole() {
    if (graph_.layers.empty()) {
      return usage_error(fmt::format("the workload '{}' has no layers", graph_.name));
    }
    if (graph_.layers.size() > kMaxLayers) {
      return usage_error(
          fmt::format("the workload '{}' has {} layers", graph_.name, graph_.layers.size()),
          fmt::format("at most {}", kMaxLayers));
    }
    if (graph_.input.empty() || elements(graph_.input) == 0 ||
        elements(graph_.input) > SizeParameter{}.most) {
      return usage_error(fmt::format("the input of the workload '{}' has the shape {}", graph_.name,
                                     shape_text(graph_.input)),
                         fmt::format("1 to {} floats", SizeParameter{}.most));
    }
    for (at_ = 0; at_ < graph_.layers.size(); ++at_) {
      const std::string& name = graph_.layers[at_].name;
      if (name.empty()) return wrong("name", "a layer without a name");
      if (name == kInputName) {
        return wrong("name", fmt::format("a layer cannot have the name '{}'", name),
                     "it means the input of the network");
      }
      if (!index_.emplace(name, at_).second) {
        return wrong("name", fmt::format("two layers have the name '{}'", name));
      }
    }
    return {};
  }

  [[nodiscard]] std::string name_of(std::size_t layer) const {
    return layer == kNetworkInput ? "the input of the network"
                                  : fmt::format("'{}'", graph_.layers[layer].name);
  }
  [[nodiscard]] const TensorShape& output_of(std::size_t layer) const {
    return layer == kNetworkInput ? network_.input : network_.layers[layer].output;
  }

  Result<const OperationKind*> kind_of(const Layer& layer) const {
    if (const OperationKind* kind = find_operation(layer.op); kind != nullptr) return kind;
    std::vector<std::string_view> names;
    for (const OperationKind& kind : operation_kinds()) names.push_back(kind.name);
    const std::string near = did_you_mean(nearest(layer.op, std::span(names)));
    return wrong("op",
                 fmt::format("layer '{}' has the unknown operation '{}'", layer.name, layer.op),
                 near.empty() ? fmt::format("known: {}", fmt::join(names, ", ")) : near);
  }

  // `last` reads the layer at hand, and is read by it over others.
  [[nodiscard]] tl::unexpected<Error> cycle(std::size_t last,
                                            const std::vector<std::size_t>& reader_of) const {
    std::vector<std::string_view> names = {graph_.layers[at_].name};
    for (std::size_t layer = last; layer != at_; layer = reader_of[layer])
      names.push_back(graph_.layers[layer].name);
    names.push_back(graph_.layers[at_].name);
    std::reverse(names.begin(), names.end());
    return wrong("inputs",
                 fmt::format("the layers {} read each other in a cycle", fmt::join(names, " -> ")));
  }

  // Layers stand in the order of execution, so that one that reads a later one is a cycle, or in
  // the wrong place.
  [[nodiscard]] tl::unexpected<Error> reads_later(std::size_t later) const {
    struct Step {
      std::size_t layer, reader;
    };
    std::vector<Step> open = {{later, at_}};
    std::vector<bool> seen(graph_.layers.size());
    std::vector<std::size_t> reader_of(graph_.layers.size());
    while (!open.empty()) {
      const auto [layer, reader] = open.back();
      open.pop_back();
      if (layer == at_) return cycle(reader, reader_of);
      if (seen[layer]) continue;
      seen[layer] = true;
      reader_of[layer] = reader;
      for (const std::size_t input : inputs_of(layer)) open.push_back({input, layer});
    }
    return wrong("inputs",
                 fmt::format("layer '{}' reads '{}', which comes after it", graph_.layers[at_].name,
                             graph_.layers[later].name),
                 "layers stand in the order of execution");
  }

  // By position, unknown names left out.
  [[nodiscard]] std::vector<std::size_t> inputs_of(std::size_t layer) const {
    std::vector<std::size_t> inputs;
    for (const std::string& name : graph_.layers[layer].inputs) {
      if (const auto found = index_.find(name); found != index_.end()) {
        inputs.push_back(found->second);
      }
    }
    if (graph_.layers[layer].inputs.empty() && layer > 0) inputs.push_back(layer - 1);
    return inputs;
  }

  Result<std::vector<std::size_t>> resolve_inputs(const Layer& layer) const {
    std::vector<std::size_t> inputs;
    if (layer.inputs.empty()) return std::vector{at_ == 0 ? kNetworkInput : at_ - 1};
    for (const std::string& name : layer.inputs) {
      if (name == kInputName) {
        inputs.push_back(kNetworkInput);
        continue;
      }
      const auto found = index_.find(name);
      if (found == index_.end()) {
        std::vector<std::string_view> names = {kInputName};
        for (const Layer& known : graph_.layers) names.push_back(known.name);
        return wrong("inputs",
                     fmt::format("layer '{}' reads '{}', which is no layer", layer.name, name),
                     did_you_mean(nearest(name, std::span(names))));
      }
      if (found->second >= at_) return reads_later(found->second);
      inputs.push_back(found->second);
    }
    return inputs;
  }

  // Sizes that were given, and those that follow from the shape that is read.
  Result<Sizes> resolve_sizes(const Layer& layer, const OperationKind& kind,
                              std::size_t input) const {
    const TensorShape& read = output_of(input);
    const ShapeRule& rule = shape_rule(kind.name);
    if (read.size() < rule.least_rank || read.size() > rule.most_rank) {
      return wrong("op", fmt::format("layer '{}' ({}) reads {}, and {} gives {}", layer.name,
                                     kind.name, rule.reads, name_of(input), shape_text(read)));
    }
    Sizes sizes = rule.sizes(read);
    for (const auto& [name, value] : layer.sizes) {
      // By name: Clang 14 lets no lambda refer to a structured binding.
      const auto follows =
          std::find_if(sizes.begin(), sizes.end(),
                       [&wanted = name](const auto& size) { return size.first == wanted; });
      if (follows == sizes.end()) {
        sizes.emplace_back(name, value);
      } else if (follows->second != value) {
        return wrong(name, fmt::format("layer '{}' ({}) has {}={}, and {} gives {}, that is {}={}",
                                       layer.name, kind.name, name, value, name_of(input),
                                       shape_text(read), name, follows->second));
      }
    }
    for (const SizeParameter& size : kind.sizes) {
      const bool there = std::any_of(sizes.begin(), sizes.end(),
                                     [&](const auto& known) { return known.first == size.name; });
      if (!there) {
        return wrong("op",
                     fmt::format("layer '{}' ({}) has no {}", layer.name, kind.name, size.name));
      }
    }
    const std::string reference(kind.variants().front());
    Result<Sizes> complete = complete_sizes({layer.op, reference, sizes});
    if (complete) return complete;
    // Named by the key that the message is about, where it is about one.
    std::string_view key = "op";
    for (const auto& [name, value] : layer.sizes) {
      const std::string& what = complete.error().what;
      if (what.find(fmt::format("{}={}", name, value)) != std::string::npos ||
          what.find(fmt::format("'{}'", name)) != std::string::npos) {
        key = name;
        break;
      }
    }
    return wrong(key, fmt::format("layer '{}': {}", layer.name, complete.error().what),
                 complete.error().hint);
  }

  Result<void> resolve_layer(const Layer& layer) {
    const Result<const OperationKind*> kind = kind_of(layer);
    if (!kind) return error_of(kind);
    Result<std::vector<std::size_t>> inputs = resolve_inputs(layer);
    if (!inputs) return error_of(inputs);
    Result<Sizes> sizes = resolve_sizes(layer, **kind, inputs->front());
    if (!sizes) return error_of(sizes);
    const std::size_t wanted = input_count((*kind)->name, *sizes);
    if (inputs->size() != wanted) {
      return wrong("inputs", fmt::format("layer '{}' ({}) needs {} input{}, and has {}", layer.name,
                                         layer.op, wanted, wanted == 1 ? "" : "s", inputs->size()));
    }
    TensorShape output = shape_rule(layer.op).output(output_of(inputs->front()), *sizes);
    if (wanted == 2 && output_of(inputs->back()) != output) {
      return wrong("inputs",
                   fmt::format("layer '{}' ({}) adds {} of {} and {} of {}", layer.name, layer.op,
                               layer.op == "add" ? name_of(inputs->front()) : "its result",
                               shape_text(output), name_of(inputs->back()),
                               shape_text(output_of(inputs->back()))),
                   "both must have the same shape");
    }
    network_.layers.push_back({.name = layer.name,
                               .kind = *kind,
                               .sizes = std::move(*sizes),
                               .inputs = std::move(*inputs),
                               .output = std::move(output),
                               .seed = seed_ ^ hash_text(layer.name),
                               .normalisation_seed = {}});
    return {};
  }

  const LayerGraph& graph_;
  std::uint64_t seed_;
  const PlaceOf& place_;
  std::unordered_map<std::string, std::size_t> index_;
  std::size_t at_ = 0;
  Network network_;
};

}  // namespace

std::string shape_text(const TensorShape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Result<Network> resolve(const LayerGraph& graph, std::uint64_t seed, const PlaceOf& place) {
  return Resolver(graph, seed, place).run();
}

}  // namespace hwprof
