// A network of layers in a file: hwprof.workload/1 (docs/workloads.md). A mistake is named by its
// line and key.
#pragma once

#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/workloads/networks/layer_graph.h"

namespace hwprof {

// Reads `path` ("-": standard input) and makes out every reference, size and shape.
Result<Network> read_network(const std::string& path, std::uint64_t seed);

// The graph alone; `file` is its name in messages.
struct GraphFile {
  LayerGraph graph;
  PlaceOf place;
};
Result<GraphFile> parse_graph(const std::string& text, const std::string& file);

std::string graph_json(const LayerGraph& graph);

// Times of layers from another tool, as index,layer,seconds: what `--against` reads.
// Seconds by layer. Fault::kUsage names the line of what is no such table, and the first layer that
// is not the network's.
Result<std::vector<double>> read_layer_table(const std::string& path, const Network& network);

}  // namespace hwprof
