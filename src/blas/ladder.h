// E5: the same sgemm under every core type that a library offers and this CPU can run, and by the
// other installed libraries; each rung in a child process, since a BLAS reads its environment
// once, at load. A rung interleaves slices of sgemm and of the FMA peak: the ratio survives a
// clock that drifts.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "counters/affinity.h"
#include "counters/machine.h"
#include "src/blas/evidence.h"
#include "src/report/record.h"

namespace hwprof::blas {

struct LadderOptions {
  std::chrono::milliseconds budget{2000};  // wall time for all rungs together
  CpuList cpus;                            // where the children are pinned; empty: as we are
  int threads = 1;
};

struct Ladder {
  std::vector<report::LadderRung> rungs;  // measured ones fastest first, then those that failed
  std::string note;                       // how it was measured, what the budget cut off
};

Ladder climb(const BlasLibrary& library, const Identity& identity, const Machine& machine,
             const LadderOptions& options);

// What a child runs (hidden command `hwprof __rung`): measures, prints one line of JSON on
// standard output, returns the exit code.
int run_rung(const std::string& library_path, int threads);

}  // namespace hwprof::blas
