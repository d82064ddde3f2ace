// The verdict on a process that was only looked at: what it has loaded, not what it calls. The one
// judge on each BLAS; where those of one process do not get the same word, which of them it calls
// is left open. How many threads it should have is not judged: a process a CPU, as under MPI, is as
// good as one with as many threads. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/blas/judge/judge.h"

namespace hwprof::blas {

// What all processes of the machine are judged by.
struct LoadedContext {
  VisibleCpu cpu = {};
  std::vector<report::InstalledBlas> installed = {};
  // Of what programs get here; it serves a process with the same library, or the same version.
  std::vector<report::LadderRung> ladder = {};
};

report::Verdict judge_loaded(const LoadedContext& context, const report::Blas& library,
                             const std::map<std::string, std::string>& environment);

// Of all its libraries: kind, why and fix.
report::Verdict judge_process(const std::vector<report::Verdict>& libraries);

}  // namespace hwprof::blas
