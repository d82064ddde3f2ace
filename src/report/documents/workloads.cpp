// `hwprof workloads`: what can be profiled, and one of it layer by layer.
#include <fmt/format.h>

#include "src/base/format.h"
#include "src/report/documents/inspect.h"

namespace hwprof::report {

Document workloads_document(const WorkloadList& list) {
  Fields workloads{"Workloads"};
  for (const auto& [name, meaning] : list.workloads) workloads.rows.push_back({name, meaning});
  Fields operations{"Operations of a FILE.json, with the sizes that it must give"};
  for (const auto& [name, sizes] : list.operations) operations.rows.push_back({name, sizes});
  Document document;
  document.add(std::move(workloads)).add(std::move(operations));
  return document.add(
      Fields{"",
             {{"Run one", "hwprof --workload NAME"},
              {"Write one out", "hwprof workloads resnet20 --format json -o FILE.json"}}});
}

Document network_document(const NetworkOutline& network) {
  Table table{.columns = {{"layer", true}, {"type", true}, {"output", true}}};
  for (const auto& [name, type, output] : network.layers)
    table.rows.push_back({"", {name, type, output}});
  Document document;
  document.add(Headline{fmt::format("{}: {}, input {}", network.name,
                                    counted(network.layers.size(), "layer"), network.input),
                        true});
  return document.add(std::move(table));
}

}  // namespace hwprof::report
