// The layers of a framework as the homework has them: name, time, occurrence; by name and by type.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/format.h"
#include "src/report/documents/content.h"
#include "src/report/documents/reasons.h"

namespace hwprof::report {
namespace {

constexpr std::size_t kMostModules = 16;  // in lines of text

std::string module_time(const std::optional<double>& ns) {
  return ns ? duration(*ns) : std::string(kAbsent);
}
std::string module_share(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f}", *share * 100) : std::string(kAbsent);
}
std::string number_cell(const std::optional<double>& value) {
  return value ? significant(*value, 3) : std::string(kAbsent);
}
std::string module_mean(const Module& module) {
  if (!module.total_ns || module.occurrence == 0) return std::string(kAbsent);
  return duration(*module.total_ns / static_cast<double>(module.occurrence));
}

// Of events that some module has a number of.
std::vector<std::size_t> counted_events(const std::vector<Module>& modules) {
  std::vector<std::size_t> events;
  if (modules.empty()) return events;
  for (std::size_t i = 0; i < modules.front().counts.size(); ++i)
    if (std::any_of(modules.begin(), modules.end(),
                    [&](const Module& module) { return module.counts[i].self.has_value(); }))
      events.push_back(i);
  return events;
}

std::string module_count(const RegionCount& count) {
  if (!count.self) return std::string(kAbsent);
  return count.unit == "ns" ? duration(*count.self) : si(*count.self, "");
}

std::vector<std::string> module_notes(const Run& run) {
  std::vector<std::string> notes = {fmt::format(
      "ElapsedTime: of the thread that ran it, with the modules in it; self: without. %: of the "
      "program's wall time, {} s.",
      significant(run.wall_s, 3))};
  if (run.module_hooks->cores)
    notes.push_back(
        fmt::format("% of peak: of the float32 FMA peak of {}, by the model's FLOP.",
                    counted(static_cast<std::uint64_t>(*run.module_hooks->cores), "core")));
  return notes;
}

std::string hooks_text(const ModuleHooks& hooks) {
  if (!hooks.cost_ns)
    return "What the hooks cost is not known: a process ended without telling it.";
  std::string text = fmt::format("The hooks took {} in {}", duration(*hooks.cost_ns),
                                 counted(hooks.hooks, "call"));
  if (hooks.cost_share) text += fmt::format(", {} of the wall time", percent(*hooks.cost_share));
  return text + "; what runs inside of a module is in its ElapsedTime.";
}

}  // namespace

Table modules_table(const Run& run, const std::vector<Module>& modules, bool types) {
  if (!run.module_hooks) return {};
  const bool rates = std::any_of(modules.begin(), modules.end(),
                                 [](const Module& module) { return module.gflops.has_value(); });
  Table table{.title = types ? "Layers by type" : "Layers by name, most self time first",
              .columns = {{types ? "type" : "FunctionName", true},
                          {"ElapsedTime"},
                          {"%"},
                          {"self"},
                          {"self\n%", false, true},
                          {"Occurrence"},
                          {"time\na call", false, true}},
              .rows = {},
              .notes = {},
              .most_rows = kMostModules};
  if (rates) {
    table.columns.push_back({"GFLOP/s"});
    table.columns.push_back({"% of\npeak"});
  }
  table.columns.push_back({"computed by", true});
  if (!types) {
    table.columns.push_back({"type", true, true});
    table.columns.push_back({"shape of inputs", true, true});
  }
  const std::vector<std::size_t> events = counted_events(modules);
  for (const std::size_t i : events)
    table.columns.push_back({modules.front().counts[i].name + "\nself", false, true});
  Reasons reasons;
  for (const Module& module : modules) {
    std::vector<std::string> cells = {module.name,
                                      module_time(module.total_ns),
                                      module_share(module.total_share),
                                      module_time(module.self_ns),
                                      module_share(module.self_share),
                                      fmt::format("{}", module.occurrence),
                                      module_mean(module)};
    if (rates) {
      cells.push_back(number_cell(module.gflops));
      cells.push_back(module.peak_fraction ? in_percent(*module.peak_fraction)
                                           : std::string(kAbsent));
    }
    cells.push_back(module.evidence.empty() ? std::string(kAbsent) : module.evidence);
    if (!types) {
      cells.push_back(module.type);
      cells.push_back(module.shape.empty() ? std::string(kAbsent) : module.shape);
    }
    for (const std::size_t i : events) cells.push_back(module_count(module.counts[i]));
    if (!module.calls_reason.empty()) reasons.add(module.calls_reason, "computed by");
    table.rows.push_back(
        {"", std::move(cells),
         fmt::format("/{}/{}", types ? "module_types" : "modules", table.rows.size())});
  }
  if (types) return table;
  if (!modules.empty()) {
    append(table.notes, module_notes(run));
    table.notes.push_back(hooks_text(*run.module_hooks));
  }
  append(table.notes, reasons.sentences());
  append(table.notes, run.module_hooks->notes);
  table.brief = table.notes;
  return table;
}

}  // namespace hwprof::report
