#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "src/base/suggest.h"
#include "src/cli/groups.h"
#include "src/commands/commands.h"
#include "src/report/documents/inspect.h"
#include "src/report/render/write_report.h"
#include "src/workloads/networks/layer_graph.h"
#include "src/workloads/networks/layer_json.h"
#include "src/workloads/operations/operation.h"

namespace hwprof {
namespace {

struct WorkloadsOptions {
  std::vector<std::string> names;  // of the one to write out; empty: list all
  Output output;
};

struct KnownWorkload {
  std::string_view name, meaning;
  LayerGraph (*graph)() = nullptr;  // of those that are networks of layers
};

constexpr KnownWorkload kKnownWorkloads[] = {
    {"textcnn", "Kim's text CNN, each operation in every variant (the default)"},
    {"resnet20", "ResNet20 on one CIFAR-10 image, its 66 layers one by one and merged", resnet20},
    {"mlp", "training: an MLP learns digits, MNIST's files or generated ones"},
    {"FILE.json", "your own network of layers; resnet20 can be written out to begin with"},
};

report::WorkloadList list() {
  report::WorkloadList list;
  for (const KnownWorkload& known : kKnownWorkloads)
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

Result<std::string> written_out(const std::string& name, const Output& output) {
  std::vector<std::string_view> names;
  for (const KnownWorkload& known : kKnownWorkloads) {
    names.push_back(known.name);
    if (known.name != name) continue;
    if (known.graph == nullptr) {
      return usage_error(fmt::format("{} is no list of layers that could be written out", name),
                         "resnet20 is one");
    }
    if (output.format == Format::kJson) return graph_json(known.graph());
    return report::rendered(report::network_document(outline(known.graph())), output);
  }
  const std::string near = did_you_mean(nearest(name, std::span(names)));
  return usage_error(fmt::format("unknown workload '{}'", name),
                     near.empty() ? fmt::format("known: {}", fmt::join(names, ", ")) : near);
}

Result<int> run_workloads(const WorkloadsOptions& options) {
  const Output& output = options.output;
  TRY(const std::string bytes, options.names.empty()
                                   ? report::rendered(report::workloads_document(list()), output)
                                   : written_out(options.names.front(), output));
  TRY(report::write_bytes(bytes, output));
  return 0;
}

// Those that can be written out.
std::vector<cli::Candidate> network_candidates() {
  std::vector<cli::Candidate> all;
  for (const KnownWorkload& known : kKnownWorkloads)
    if (known.graph != nullptr)
      all.push_back({std::string(known.name), std::string(known.meaning)});
  return all;
}

}  // namespace

cli::Action workloads_command(cli::Options& options) {
  auto to = std::make_shared<WorkloadsOptions>();
  options.words("name", "[NAME]", to->names, "Write this one out. Default: list all.",
                network_candidates);
  cli::output(options, to->output, {Format::kText, Format::kJson, Format::kMarkdown});
  options.footer(
      "hwprof workloads resnet20 --format json -o net.json   a start for one's own\n"
      "hwprof --workload net.json                            which is run so");
  options.check([to]() -> Result<void> {
    if (to->names.size() > 1) {
      return usage_error(fmt::format("unexpected argument '{}'", to->names[1]),
                         "one workload at a time");
    }
    if (to->names.empty() && to->output.format == Format::kJson) {
      return usage_error("--format json needs the name of a workload",
                         "hwprof workloads resnet20 --format json");
    }
    return {};
  });
  return [to](const cli::CommandLine&) { return run_workloads(*to); };
}

}  // namespace hwprof
