#include "src/commands/run/layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <utility>

#include "counters/machine/affinity.h"
#include "src/blas/evidence/module_evidence.h"
#include "src/measure/modules.h"

namespace hwprof {

std::optional<LayerFiles> prepare_layers(const RunRequest& request, report::Run& record) {
  if (!request.layers) return std::nullopt;
  auto files = LayerFiles::prepare();
  if (files) return *std::move(files);
  record.warnings.push_back({"layers", in_words(files.error())});
  return std::nullopt;
}

std::vector<std::string> layers_environment(const LayerFiles& files, const RunRequest& request) {
  std::vector<std::string> variables = files.environment(std::getenv("PYTHONPATH"));
  const char* events = std::getenv("HWPROF_EVENTS");
  const bool chosen = events != nullptr && *events != '\0';
  if (request.counters && !request.events.empty() && !chosen)
    variables.push_back(fmt::format("HWPROF_EVENTS={}", fmt::join(request.events, ",")));
  return variables;
}

void take_layers(const LayerFiles& files, const std::optional<report::Regions>& regions,
                 blas::CallWatch::ByModule calls, report::Run& record) {
  const ModuleFacts facts{.regions = regions.value_or(report::Regions()),
                          .processes = files.read(),
                          .calls = std::move(calls.calls),
                          .no_calls_because = std::move(calls.reason),
                          .unplaced = calls.unplaced,
                          .wall_ns = 1e9 * record.wall_s};
  ModuleTables tables = module_tables(facts);
  record.modules = std::move(tables.by_name);
  record.module_types = std::move(tables.by_type);
  record.module_hooks = std::move(tables.hooks);
}

void add_layer_evidence(const RunRequest& request, report::Run& record) {
  if (!record.module_hooks) return;
  const std::size_t cpus = (request.pin.empty() ? allowed_cpus() : request.pin).size();
  if (record.blas.evidence.achieved_rate.core_peak_gflops)
    record.module_hooks->cores = static_cast<double>(cpus);
  for (auto* modules : {&record.modules, &record.module_types})
    blas::add_module_evidence(record.blas.evidence, cpus, record.module_hooks->onednn, *modules);
}

}  // namespace hwprof
