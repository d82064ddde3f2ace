// What every command that measures is told, in the groups that the command line has: where it runs,
// for how long, what becomes of the regions and of the report. Plain data, checked by the command
// line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "counters/machine/affinity.h"
#include "src/cli/options.h"
#include "src/exact/exact.h"
#include "src/model/regions_record.h"
#include "src/report/render/write_report.h"

namespace hwprof {

struct MachineOptions {
  CpuList pin;                      // empty: where the process may run
  std::vector<int> threads;         // each in turn; empty: one for each CPU it may use
  std::vector<std::string> events;  // empty: the default list
  unsigned passes = 0;              // at most; 0: as many as the events need
  std::string isa;                  // cap of the hand-written kernels; empty: none
  std::string blas;                 // path or soname; empty: what programs get
  bool ladder = true;               // compare the BLAS with its other core types
};

struct BudgetOptions {
  double seconds = 10;
  std::optional<std::size_t> repeat = std::nullopt;  // absent: until the intervals are narrow
};

// The table of regions and what is written beside it.
struct RegionOptions {
  report::RegionView view;
  std::string trace;            // file; empty: no trace
  std::size_t trace_calls = 0;  // that it keeps; 0: the library's default
  std::string csv;              // file; empty: none
  std::string flame;            // file; empty: none
  bool overhead = false;        // measure what watching costs
};

struct MeasureOptions {
  MachineOptions machine;
  BudgetOptions budget;
  RegionOptions regions;
  Output output;
  bool exact = false;  // count a call of each row without the PMU, too
  exact::Engine exact_engine = exact::Engine::kBlocks;
  bool quiet = false;
  std::uint64_t seed = 0;            // of inputs and weights
  std::vector<std::string> command;  // as typed, for the report
};

// --blas, --seed
void declare_inputs(cli::Options& options, MeasureOptions& to);
// --pin, --events, --threads, --isa, --passes
void declare_machine(cli::Options& options, MachineOptions& to);
// --exact, --engine
std::vector<cli::Option> declare_exact(cli::Options& options, MeasureOptions& to);
// --time-budget
void declare_time_budget(cli::Options& options, BudgetOptions& to);

}  // namespace hwprof
