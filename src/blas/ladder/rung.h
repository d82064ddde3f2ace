// The child's side of the ladder: one library, in the environment that the parent has prepared,
// pinned to one CPU, single-threaded.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "counters/machine/affinity.h"
#include "src/base/result.h"
#include "src/blas/ladder/denormal_replay.h"
#include "src/blas/providers/choice.h"

namespace hwprof::blas {

// First argument of the program that makes it such a child; no command of a user.
inline constexpr const char* kRungCommand = "__rung";

// Every rung computes the same product, else the rungs could not be compared: 512 fills the
// register and cache blocks of every known library (at 128, Sandybridge kernels reach half of their
// rate). Only a library that would take over 15 ms for it, the reference, gets a smaller one, and
// is flattered by it.
inline constexpr int kRungSize = 512;

struct RungTask {
  std::string library;
  CpuList cpus;               // empty: as it was started
  std::string expected_core;  // "": whatever the library chooses
  std::string peak_isa;       // FmaKernel to compare with; "": the fastest, which takes longer
  bool with_dgemm = false;    // measure double precision too
  bool with_results = false;  // check them too (results.h)
  std::string replay = {};    // calls to be made again (replay.h); "": none
  // One call, of which alone the cost of denormal numbers is measured (denormal_replay.h); "": none
  std::string denormals = {};
};

struct RungResult {
  Identity identity;  // without `ignored`; threads are those that a program gets
  report::Results results;
  int size = 0;  // of the square matrices
  // Over the CPU time, and the median of the ratios of a product and the peak slices around it.
  // Absent of a library that has no sgemm_, but what a program called.
  std::optional<double> gflops, peak_fraction;
  double peak_gflops = 0;  // beside it
  // The same ratio of all calls of the task together, each by its weight; else why there is none.
  std::optional<double> calls_fraction;
  std::string calls_reason;
  std::optional<double> dgemm_gflops;
  std::optional<double> dgemm_peak_fraction;  // of half the peak: a vector holds half as many
};

// All arguments of the child, kRungCommand first.
std::vector<std::string> rung_arguments(const RungTask& task);
// The result, or the reason why there is none, from what a child has printed.
Result<RungResult> parse_rung_output(const std::string& out);
// Both, by a child that runs `program` with all of "NAME=value" in `environment`.
Result<RungResult> measure_in_child(const std::string& program, const RungTask& task,
                                    const std::vector<std::string>& environment,
                                    std::chrono::milliseconds allowed);

// Of a task with `denormals`.
Result<DenormalCost> denormal_cost_in_child(const std::string& program, const RungTask& task,
                                            const std::vector<std::string>& environment,
                                            std::chrono::milliseconds allowed);
Result<DenormalCost> parse_denormal_output(const std::string& out);

// What a child runs, with the arguments that follow kRungCommand: measures, prints one line of JSON
// on standard output, returns the exit code.
int run_rung(const std::vector<std::string>& arguments);

}  // namespace hwprof::blas
