// Times of layers from another tool, as index,layer,seconds: what `--against` reads.
#pragma once

#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/workloads/networks/layer_graph.h"

namespace hwprof {

// Seconds by layer. Fault::kUsage names the line of what is no such table, and the first layer that
// is not the network's.
Result<std::vector<double>> read_layer_table(const std::string& path, const Network& network);

}  // namespace hwprof
