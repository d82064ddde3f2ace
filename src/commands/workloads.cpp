#include "src/commands/workloads.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "src/base/suggest.h"
#include "src/report/render/output.h"
#include "src/workloads/networks/layer_json.h"
#include "src/workloads/networks/resnet20.h"
#include "src/workloads/operations/operation.h"

namespace hwprof {
namespace {

struct KnownWorkload {
  std::string_view name, meaning;
  LayerGraph (*graph)() = nullptr;  // of those that are networks of layers
};

constexpr KnownWorkload kKnown[] = {
    {"textcnn", "Kim's text CNN, each operation in every variant (the default)"},
    {"resnet20", "ResNet20 on one CIFAR-10 image, its 66 layers one by one and merged", resnet20},
    {"mlp", "training: an MLP learns digits, MNIST's files or generated ones"},
    {"FILE.json", "your own network of layers; resnet20 can be written out to begin with"},
};

std::string list() {
  std::string text;
  for (const KnownWorkload& known : kKnown) {
    text += fmt::format("{:<10} {}\n", known.name, known.meaning);
  }
  text += "\nOperations of a FILE.json, with the sizes that it must give:\n";
  for (const OperationKind& kind : operation_kinds()) {
    std::vector<std::string_view> sizes;
    for (const SizeParameter& size : kind.sizes) {
      if (!size.of_input) sizes.push_back(size.name);
    }
    text += fmt::format("  {:<15} {}\n", kind.name,
                        sizes.empty() ? "-" : fmt::format("{}", fmt::join(sizes, ", ")));
  }
  return text +
         "\nRun one:       hwprof --workload NAME\n"
         "Write one out: hwprof workloads resnet20 --format json -o FILE.json\n";
}

std::string described(const LayerGraph& graph) {
  std::string text = fmt::format("{}: {} layers, input {}\n", graph.name, graph.layers.size(),
                                 shape_text(graph.input));
  const Result<Network> network = resolve(graph, 0);
  if (!network) return text;
  for (const NetworkLayer& layer : network->layers) {
    text += fmt::format("  {:<14} {:<22} {}\n", layer.name, layer.kind->type_name,
                        shape_text(layer.output));
  }
  return text;
}

}  // namespace

Result<int> run_workloads(const WorkloadsOptions& options) {
  std::string bytes;
  if (options.name.empty()) {
    bytes = list();
  } else {
    std::vector<std::string_view> names;
    const KnownWorkload* found = nullptr;
    for (const KnownWorkload& known : kKnown) {
      names.push_back(known.name);
      if (known.name == options.name) found = &known;
    }
    if (found == nullptr) {
      const std::string near = did_you_mean(nearest(options.name, std::span(names)));
      return usage_error(fmt::format("unknown workload '{}'", options.name),
                         near.empty() ? fmt::format("known: {}", fmt::join(names, ", ")) : near);
    }
    if (found->graph == nullptr) {
      return usage_error(
          fmt::format("{} is no list of layers that could be written out", options.name),
          "resnet20 is one");
    }
    bytes = options.output.format == Format::kJson ? graph_json(found->graph())
                                                   : described(found->graph());
  }
  const auto done = options.output.file.empty() ? report::write_stdout(bytes)
                                                : report::write_file(options.output.file, bytes);
  if (!done) return error_of(done);
  return 0;
}

}  // namespace hwprof
