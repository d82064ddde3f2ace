// A network of layers in a file: JSON with lines, the layers in it, their references and shapes.
#include <algorithm>
#include <cmath>

#include "src/workloads/inputs/json_lines.h"
#include "src/workloads/networks/layer_graph.h"
#include "src/workloads/networks/layer_json.h"
#include "tests/fuzz/json_mutator.h"

namespace {

using namespace hwprof;

void check_lines(const JsonLine& value, std::size_t lines) {
  must(value.line >= 1 && value.line <= lines);
  must(!value.described().empty() || std::holds_alternative<JsonLine::Other>(value.value));
  if (const auto* array = std::get_if<JsonArray>(&value.value)) {
    for (const JsonLine& item : *array) check_lines(item, lines);
  }
  if (const auto* object = std::get_if<JsonObject>(&value.value)) {
    for (const JsonMember& member : *object) {
      must(member.line >= 1 && member.line <= lines);
      check_lines(member.value, lines);
    }
  }
}

LayerGraph graph_of(const Network& network) {
  LayerGraph graph{.name = network.name, .input = network.input, .layers = {}};
  for (const NetworkLayer& layer : network.layers) {
    Layer& whole = graph.layers.emplace_back(Layer{.name = layer.name,
                                                   .op = std::string(layer.kind->name),
                                                   .sizes = layer.sizes,
                                                   .inputs = {}});
    for (const std::size_t input : layer.inputs) {
      must(input == kNetworkInput || input < graph.layers.size() - 1);
      whole.inputs.push_back(input == kNetworkInput ? std::string(kInputName)
                                                    : network.layers[input].name);
    }
  }
  return graph;
}

// With all references, sizes and shapes in it, a network means itself.
void check_consistent(const Network& network) {
  const auto again = resolve(graph_of(network), 1);
  must(again.has_value());
  for (std::size_t i = 0; i < network.layers.size(); ++i)
    must(again->layers[i].output == network.layers[i].output);
}

void check_network(const LayerGraph& graph, const PlaceOf& place) {
  const auto network = resolve(graph, 1, place);
  if (!network) return;
  must(network->layers.size() == graph.layers.size());
  for (const NetworkLayer& layer : network->layers) {
    must(!layer.output.empty());
    must(std::find(layer.output.begin(), layer.output.end(), 0) == layer.output.end());
    must(layer.inputs.size() == input_count(layer.kind->name, layer.sizes));
    const std::string variant(layer.kind->variants().front());
    const double bytes = bytes_needed({std::string(layer.kind->name), variant, layer.sizes});
    must(std::isfinite(bytes) && bytes >= 0);
  }
  check_consistent(*network);
  const Network merged = fused(*network);
  must(!merged.layers.empty() && merged.layers.size() <= network->layers.size());
  check_consistent(merged);
}

// What is written of a network is read as the same one.
void check_graph(const LayerGraph& graph, const PlaceOf& place) {
  const auto again = parse_graph(graph_json(graph), "again.json");
  must(again.has_value() && again->graph == graph);
  check_network(graph, place);
}

// Mostly right: shapes that fit are not to be had by changing bytes of a text.
LayerGraph drawn_graph(Feed feed) {
  LayerGraph graph{.name = "drawn", .input = {}, .layers = {}};
  const auto size = [&feed]() -> std::uint64_t {
    const auto value = feed.number<std::uint8_t>();
    return value < 0xf0 ? 1 + value % 16 : std::uint64_t{1} << (value % 16 * 4);
  };
  for (std::size_t rank = 1 + feed.below(4); rank > 0; --rank) graph.input.push_back(size());
  while (!feed.empty() && graph.layers.size() < 64) {
    const OperationKind& kind = operation_kinds()[feed.below(operation_kinds().size())];
    Layer layer{.name = fmt::format("layer{}", graph.layers.size()),
                .op = std::string(kind.name),
                .sizes = {},
                .inputs = {}};
    const auto given = feed.number<std::uint8_t>();
    for (std::size_t i = 0; i < kind.sizes.size(); ++i) {
      const SizeParameter& parameter = kind.sizes[i];
      const bool odd = (given >> (i % 8) & 1) != 0;
      if (parameter.of_input != odd) continue;
      layer.sizes.emplace_back(parameter.name, parameter.least == 0 ? feed.below(2) : size());
    }
    for (std::size_t i = feed.below(4) % 3; i > 0; --i) {
      const std::size_t back = feed.below(8);
      layer.inputs.push_back(back >= graph.layers.size()
                                 ? std::string(kInputName)
                                 : graph.layers[graph.layers.size() - 1 - back].name);
    }
    graph.layers.push_back(std::move(layer));
  }
  return graph;
}

}  // namespace

void fuzz(std::string_view text) {
  const auto lines = 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  if (const auto json = parse_json_lines(text, "net.json", 64)) check_lines(*json, lines);
  if (const auto file = parse_graph(std::string(text), "net.json"))
    check_graph(file->graph, file->place);
  const LayerGraph drawn = drawn_graph(Feed(text));
  if (!drawn.layers.empty()) check_graph(drawn, {});
}
