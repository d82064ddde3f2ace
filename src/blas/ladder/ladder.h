// E5: the same sgemm under every core type that a library offers and this CPU can run, and by the
// other installed libraries; each rung in a child process, since a BLAS reads its environment
// once, at load. A rung interleaves slices of sgemm and of the FMA peak: the ratio survives a
// clock that drifts.
//
// What decides is measured in several processes by turns: an interval over the slices of one would
// be that of a mood of the machine.
//
// Every rung runs on one thread and one CPU: what a core type or a variable costs is a matter of
// one core, and a threaded build that is not used or is slow to scale would hide it. Whether a
// library can use more CPUs is read from its identity.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "counters/machine.h"
#include "counters/machine/affinity.h"
#include "src/blas/evidence/own_openblas.h"
#include "src/blas/ladder/replay.h"
#include "src/blas/providers/choice.h"
#include "src/model/blas.h"

namespace hwprof::blas {

struct LadderOptions {
  std::chrono::milliseconds budget{2000};  // wall time for all rungs together
  // A rung that takes longer hangs, or the machine is too busy for it to mean anything.
  std::chrono::milliseconds longest_rung{900};
  CpuList cpus;                             // rungs run on the first; empty: as we are
  const std::atomic<bool>* stop = nullptr;  // no further rung is begun once it is true
  OwnOpenBlas own = {};                     // measured too, where there is one
  Replay replay = {};                       // calls of a program that every rung makes again
  std::string program = "/proc/self/exe";   // that calls run_rung() when told kRungCommand
};

struct Ladder {
  std::vector<report::LadderRung> rungs;  // measured ones fastest first, then those that failed
  std::string note;                       // how it was measured, what the budget cut off
  std::string own_reason;                 // why no rung is hwprof's own OpenBLAS

  void move_to(report::JudgedBlas& blas) &&;
};

// `installed`: the other libraries to try, usually installed_blas(); `library` itself is skipped.
Ladder climb(const BlasLibrary& library, const Identity& identity,
             const std::vector<report::InstalledBlas>& installed, const Machine& machine,
             const LadderOptions& options);

// Where programs get no BLAS: hwprof's own OpenBLAS alone.
Ladder climb_own(const Machine& machine, const LadderOptions& options);

struct SurveyOptions {
  std::chrono::milliseconds budget{10000};        // for all together
  std::chrono::milliseconds longest_child{2000};  // for one
  std::string program = "/proc/self/exe";         // as above
};

// Each library of a machine as it is found, in the environment that programs get, on one thread, in
// single and double precision.
std::vector<report::SurveyedBlas> survey(const std::vector<report::InstalledBlas>& libraries,
                                         const SurveyOptions& options);

}  // namespace hwprof::blas
