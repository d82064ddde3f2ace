#include "src/measure/modules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "src/base/format.h"
#include "src/measure/regions_view.h"

namespace hwprof {
namespace {

using report::Module;
using report::Region;
using report::Regions;
using ModuleNames = std::set<std::pair<std::string, std::string>>;  // name, type

ModuleNames modules_of(const std::vector<LayerProcess>& processes) {
  ModuleNames names;
  for (const LayerProcess& process : processes)
    for (const auto& [number, module] : process.modules) names.insert(module);
  return names;
}

// Rows are depth first: those of one more level behind a row are in it.
ModuleNames declared_in(const std::vector<Region>& rows) {
  ModuleNames known;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    double own = rows[i].bytes;
    for (std::size_t in = i + 1; in < rows.size() && rows[in].depth > rows[i].depth; ++in)
      if (rows[in].depth == rows[i].depth + 1) own -= rows[in].bytes;
    if (own > 0.5) known.insert({rows[i].name, rows[i].type});
  }
  return known;
}

// What is no module stays where it is, without a name: the levels of the others go by it.
Regions without_others(Regions regions, const ModuleNames& modules) {
  for (Region& row : regions.rows)
    if (!modules.contains({row.name, row.type})) row.name = row.type = row.shape = "";
  return regions;
}

std::optional<double> wall_share(const std::optional<double>& ns, double wall_ns) {
  return ns && wall_ns > 0 ? std::optional(*ns / wall_ns) : std::nullopt;
}

Module module_of(const Region& row, bool declared, double wall_ns) {
  Module module;
  module.name = row.name;
  module.type = row.type;
  module.shape = row.shape;
  module.occurrence = row.calls;
  module.total_ns = row.total_ns;
  module.self_ns = row.self_ns;
  module.counts = row.counts;
  module.total_share = wall_share(row.total_ns, wall_ns);
  module.self_share = wall_share(row.self_ns, wall_ns);
  if (declared) {
    module.flops = row.flops;
    if (row.flops > 0 && row.total_ns.value_or(0) > 0) module.gflops = row.flops / *row.total_ns;
  } else {
    module.flops_reason = "no model of this type's work";
  }
  return module;
}

// The calls of one key (name or type): a routine of a library once.
// Name or type, symbol, library, kernel, type of the numbers.
using ModuleCallKey = std::tuple<std::string, std::string, std::string, std::string, std::string>;
struct MergedCalls {
  report::CallSite site;
  bool timed = true, known = true;
};

void add_call(const report::CallSite& part, MergedCalls& to) {
  const auto sum = [](std::optional<double>& whole, const std::optional<double>& more, bool& all) {
    all = all && more;
    whole = all ? std::optional(whole.value_or(0) + *more) : std::nullopt;
  };
  to.site.count += part.count;
  sum(to.site.time_ns, part.time_ns, to.timed);
  sum(to.site.flops, part.flops, to.known);
  for (const report::CallShape& shape : part.shapes) {
    const auto same =
        std::find_if(to.site.shapes.begin(), to.site.shapes.end(), [&](const auto& o) {
          return std::tie(o.m, o.n, o.k, o.row_major, o.right, o.transposed_a, o.transposed_b) ==
                 std::tie(shape.m, shape.n, shape.k, shape.row_major, shape.right,
                          shape.transposed_a, shape.transposed_b);
        });
    if (same == to.site.shapes.end()) {
      to.site.shapes.push_back(shape);
    } else {
      same->count += shape.count;
      if (same->time_ns && shape.time_ns) *same->time_ns += *shape.time_ns;
    }
  }
}

report::ModuleCall module_call(const ModuleCallKey& key, const report::CallSite& site) {
  report::ModuleCall call;
  std::tie(std::ignore, call.routine, call.library, call.kernel, call.type) = key;
  call.calls = site.count;
  call.time_ns = site.time_ns;
  call.shapes = site.shapes;
  if (site.flops && site.time_ns.value_or(0) > 0) call.gflops = *site.flops / *site.time_ns;
  return call;
}

template <class Key>
std::map<std::string, std::vector<report::ModuleCall>> module_calls_by(const ModuleFacts& facts,
                                                                       Key key) {
  std::map<std::uint32_t, const LayerProcess*> processes;
  for (const LayerProcess& process : facts.processes) processes[process.pid] = &process;
  std::map<ModuleCallKey, MergedCalls> merged;
  for (const observe::CallsOfModule& calls : facts.calls) {
    const auto process = processes.find(calls.process);
    if (process == processes.end()) continue;
    const auto module = process->second->modules.find(calls.module);
    if (module == process->second->modules.end()) continue;
    const report::PreparedCall prepared = calls.prepared.value_or(report::PreparedCall{});
    add_call(calls.site, merged[{key(module->second), calls.site.symbol, calls.site.library,
                                 prepared.implementation, prepared.type}]);
  }
  std::map<std::string, std::vector<report::ModuleCall>> calls;
  for (const auto& [at, one] : merged) calls[std::get<0>(at)].push_back(module_call(at, one.site));
  for (auto& [at, some] : calls)
    std::stable_sort(some.begin(), some.end(), [](const auto& a, const auto& b) {
      return a.time_ns.value_or(0) > b.time_ns.value_or(0);
    });
  return calls;
}

template <class Key>
std::vector<Module> module_table(const ModuleFacts& facts, const Regions& modules,
                                 const ModuleNames& declared, report::GroupBy by, Key key) {
  std::set<std::string> known;
  for (const auto& module : declared) known.insert(key(module));
  auto calls = module_calls_by(facts, key);
  report::RegionView view;
  view.group_by = by;
  std::vector<Module> rows;
  for (const Region& row : view_regions(modules, view).rows) {
    if (row.name.empty()) continue;
    Module& module = rows.emplace_back(module_of(row, known.contains(row.name), facts.wall_ns));
    module.calls_reason = facts.no_calls_because;
    if (const auto own = calls.find(row.name); own != calls.end())
      module.calls = std::move(own->second);
  }
  return rows;
}

std::string pid_list(const std::vector<std::uint32_t>& pids) {
  constexpr std::size_t kNamed = 5;
  const std::size_t named = std::min(pids.size(), kNamed);
  const std::vector<std::uint32_t> first(pids.begin(),
                                         pids.begin() + static_cast<std::ptrdiff_t>(named));
  return fmt::format("{}{}", fmt::join(first, ", "), pids.size() > named ? ", ..." : "");
}

void note_missing(const ModuleFacts& facts, report::ModuleHooks& hooks) {
  std::vector<std::uint32_t> died;
  for (const LayerProcess& process : facts.processes) {
    for (const std::string& problem : process.problems)
      if (std::find(hooks.notes.begin(), hooks.notes.end(), problem) == hooks.notes.end())
        hooks.notes.push_back(problem);
    if (!process.torch.empty() && !process.ended) died.push_back(process.pid);
  }
  if (hooks.processes == 0) {
    hooks.notes.emplace_back(
        "no Python of the program took part: it is no Python of version 3.8 or later, or it "
        "ignores PYTHONPATH (-E, -I, -S, a frozen program)");
  } else if (hooks.with_modules == 0 && hooks.notes.empty()) {
    hooks.notes.emplace_back("torch was not imported in any Python of the program");
  }
  if (!died.empty())
    hooks.notes.push_back(
        fmt::format("{} {} ended by os._exit, execve or a signal: of its modules there is what it "
                    "had up to 2 s "
                    "or one step before",
                    died.size() == 1 ? "process" : "processes", pid_list(died)));
  if (facts.unplaced > 0)
    hooks.notes.push_back(fmt::format("{} of a BLAS found no room in the table of calls by layer",
                                      report::counted(facts.unplaced, "call")));
}

report::ModuleHooks module_hooks(const ModuleFacts& facts) {
  report::ModuleHooks hooks;
  hooks.processes = facts.processes.size();
  double cost_ns = 0;
  bool all = true;
  for (const LayerProcess& process : facts.processes) {
    if (process.torch.empty()) continue;
    ++hooks.with_modules;
    hooks.torch = process.torch;
    if (!process.onednn.empty()) hooks.onednn = process.onednn;
    hooks.hooks += process.hooks;
    cost_ns += process.hook_ns;
    all = all && process.ended;
  }
  if (hooks.with_modules > 0 && all) {
    hooks.cost_ns = cost_ns;
    hooks.cost_share = wall_share(cost_ns, facts.wall_ns);
  }
  note_missing(facts, hooks);
  return hooks;
}

}  // namespace

ModuleTables module_tables(const ModuleFacts& facts) {
  const Regions modules = without_others(facts.regions, modules_of(facts.processes));
  const ModuleNames declared = declared_in(modules.rows);
  const auto by_name = [](const auto& module) { return module.first; };
  const auto by_type = [](const auto& module) { return module.second; };
  ModuleTables tables{
      .by_name = module_table(facts, modules, declared, report::GroupBy::kName, by_name),
      .by_type = module_table(facts, modules, declared, report::GroupBy::kType, by_type),
      .hooks = module_hooks(facts)};
  for (Module& type : tables.by_type) type.type = type.name;
  return tables;
}

}  // namespace hwprof
