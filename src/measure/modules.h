// The tables of a framework's modules: of the regions that its hooks made, and the calls of a BLAS
// that were made in each. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/model/modules_record.h"
#include "src/observe/calls/audited_calls.h"
#include "src/observe/proc/layer_files.h"

namespace hwprof {

struct ModuleFacts {
  report::Regions regions;  // of all processes together, by path
  std::vector<LayerProcess> processes;
  std::vector<observe::CallsOfModule> calls;
  std::string no_calls_because;  // empty: all were watched
  std::uint64_t unplaced = 0;    // calls in modules that nobody could book
  double wall_ns = 0;
};

struct ModuleTables {
  std::vector<report::Module> by_name, by_type;  // most self time first
  report::ModuleHooks hooks;
};

ModuleTables module_tables(const ModuleFacts& facts);

}  // namespace hwprof
