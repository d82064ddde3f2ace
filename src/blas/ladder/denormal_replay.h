// What denormal numbers cost a call at most: the same call made again with an operand of nothing
// but denormal numbers, and with normal operands of which each product is denormal, both
// interleaved with the usual numbers. CPUs differ in which of the two is slow, and by what factor.
//
// The program's own calls say it better where some met denormal numbers and others did not
// (CallNumbers::denormal_slowdown). What its numbers were is not known here, so the larger of the
// two factors is no more than a bound.
#pragma once

#include <atomic>
#include <chrono>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "counters/machine/affinity.h"
#include "kernels/blas_library.h"
#include "src/base/result.h"
#include "src/blas/ladder/replay.h"
#include "src/measure/statistics.h"
#include "src/model/blas.h"

namespace hwprof::blas {

struct DenormalCost {
  double operands = 1, results = 1;  // time with such numbers / with usual ones, the medians
  Interval operands_interval, results_interval;  // 95 %
  std::uint64_t rounds = 0;
};

// In the child: by `clock`, on the calling thread's rounding and flush modes, which it sets to what
// a program starts with.
Result<DenormalCost> measure_denormal_cost(const BlasLibrary& library, const ReplayCall& call,
                                           clockid_t clock);

// The call of a site that is made again, small enough to be so a hundred times slower: of those of
// its shapes that met denormal numbers the one with most of their time. Else why there is none.
Result<ReplayCall> denormal_call(const report::CallSite& site);

struct DenormalReplayOptions {
  CpuList cpus;                             // of which the first is used; empty: as we are
  const std::atomic<bool>* stop = nullptr;  // no further call is made again once it is true
  std::string program = "/proc/self/exe";   // that calls run_rung() when told kRungCommand
  std::chrono::milliseconds allowed{4000};  // for a child
};

// Fills `denormal_replay` of the sites whose calls met denormal numbers and do not tell what that
// cost, for those in which most time went: in a child each, in the environment of this process.
// `why_not`: a reason not to load a library; empty: it may be.
using WhyNotToLoad = std::string (*)(const report::BlasEvidence& evidence,
                                     const std::string& library);
void replay_denormals(report::BlasEvidence& evidence, WhyNotToLoad why_not,
                      const DenormalReplayOptions& options);
// The same where nothing is to be measured, for this reason.
void skip_denormals(report::BlasEvidence& evidence, const std::string& reason);

}  // namespace hwprof::blas
