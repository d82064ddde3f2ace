// Times of layers of another library, which a network is held against.
#include <cmath>

#include "src/workloads/networks/layer_graph.h"
#include "src/workloads/networks/layer_json.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace hwprof;

const Network& network() {
  static const Network made = [] {
    const auto file = parse_graph(
        R"({"name": "net", "input": [2, 3, 8, 8], "layers": [
            {"name": "a", "op": "relu"}, {"name": "b", "op": "relu", "inputs": ["a"]}]})",
        "net.json");
    must(file.has_value());
    auto resolved = resolve(file->graph, 1, file->place);
    must(resolved.has_value());
    return *std::move(resolved);
  }();
  return made;
}

}  // namespace

void fuzz(std::string_view text) {
  const UniqueFd file = file_of(text);
  const auto seconds = read_layer_table(path_of(file), network());
  if (!seconds) {
    must(!seconds.error().what.empty());
    return;
  }
  must(seconds->size() == network().layers.size());
  for (const double time : *seconds) must(std::isfinite(time) && time > 0);
}
