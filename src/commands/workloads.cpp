#include "src/commands/workloads.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "src/base/suggest.h"
#include "src/report/documents/inspect.h"
#include "src/report/render/write_report.h"
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

report::WorkloadList list() {
  report::WorkloadList list;
  for (const KnownWorkload& known : kKnown)
    list.workloads.push_back({std::string(known.name), std::string(known.meaning)});
  for (const OperationKind& kind : operation_kinds()) {
    std::vector<std::string_view> sizes;
    for (const SizeParameter& size : kind.sizes) {
      if (!size.of_input) sizes.push_back(size.name);
    }
    list.operations.push_back(
        {std::string(kind.name), sizes.empty() ? "-" : fmt::format("{}", fmt::join(sizes, ", "))});
  }
  return list;
}

report::NetworkOutline outline(const LayerGraph& graph) {
  report::NetworkOutline outline{graph.name, shape_text(graph.input), {}};
  const Result<Network> network = resolve(graph, 0);
  if (!network) return outline;
  for (const NetworkLayer& layer : network->layers) {
    outline.layers.push_back(
        {layer.name, std::string(layer.kind->type_name), shape_text(layer.output)});
  }
  return outline;
}

}  // namespace

Result<int> run_workloads(const WorkloadsOptions& options) {
  std::string bytes;
  if (options.name.empty()) {
    bytes = report::rendered(report::workloads_document(list()), options.output);
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
    bytes =
        options.output.format == Format::kJson
            ? graph_json(found->graph())
            : report::rendered(report::network_document(outline(found->graph())), options.output);
  }
  const auto done = report::write_bytes(bytes, options.output);
  if (!done) return error_of(done);
  return 0;
}

}  // namespace hwprof
