// Layers of a framework that a program ran: the modules of PyTorch, each a region, with what called
// a BLAS in it. Plain rows with the unit in each name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/model/blas.h"
#include "src/model/regions_record.h"

namespace hwprof::model {

// What a module itself called, outside of the modules in it: one routine of one library.
struct ModuleCall {
  std::string routine, library;
  report::Provider provider = report::Provider::kNone;
  std::string core;            // that it had chosen; of oneDNN the most that it uses; "": not known
  std::string kernel;          // that oneDNN had chosen for it: "jit:avx512_core"; "": not known
  std::string type;            // of its numbers, "f32", where they do not go by the routine's name
  std::optional<int> threads;  // of that library
  std::uint64_t calls = 0;
  std::optional<double> time_ns, gflops;
  std::optional<double> peak_fraction;  // of that many cores' peak
  std::string peak_fraction_reason;     // why it is absent
  std::vector<CallShape> shapes;        // most FLOP first
};

// Times are those of the thread that ran it.
struct Module {
  std::string name, type, shape;                  // of its inputs; "": several, or none
  std::uint64_t occurrence = 0;                   // calls that ended
  std::optional<double> total_ns, self_ns;        // with the modules in it, without
  std::optional<double> total_share, self_share;  // of the program's wall time
  std::optional<double> flops;                    // by the model, over all calls
  std::string flops_reason;                       // why it is absent
  std::optional<double> gflops, peak_fraction;    // of the peak of all cores that it could use
  std::vector<RegionCount> counts;
  std::vector<ModuleCall> calls;  // longest first
  std::string calls_reason;       // why none is known; "": there was none
  std::string evidence;           // one sentence of who computed it
};

// How the modules were watched.
struct ModuleHooks {
  std::uint64_t processes = 0;     // of a Python
  std::uint64_t with_modules = 0;  // in which PyTorch's modules were watched
  std::string torch;               // version
  std::string onednn;              // the most that it computes with: "avx512"; "": not known
  std::uint64_t hooks = 0;
  std::optional<double> cost_ns, cost_share;  // of the program's wall time; absent: a process died
  std::optional<double> cores;                // that peak fractions of modules are of
  std::vector<std::string> notes;             // what is missing, and why
};

template <>
const Record& record<ModuleCall>();
template <>
const Record& record<Module>();
template <>
const Record& record<ModuleHooks>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::Module, model::ModuleCall, model::ModuleHooks;
}  // namespace hwprof::report
