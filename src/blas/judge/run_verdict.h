// From the evidence on a program that ran to one word, its cause, the factor lost and the mend.
// Pure: tested on made-up evidence.
//
// Who served is decided by what executed, then by what was called, and never by what is merely
// loaded: a program may call the reference while LAPACK has mapped OpenBLAS. How good it is, is
// decided by the ladder (measured speed of its core type against the others) by the rules of
// verdict.h; by the width of the executed vectors only where there is no ladder.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "src/blas/evidence/libraries.h"
#include "src/model/run_record.h"

namespace hwprof::blas {

// Beside those of verdict.h, all thresholds of the verdict on a run.
struct RunThresholds {
  // With fewer samples nothing is said of shares: 100 are a tenth of a second at 997 Hz, and a
  // share of 10 % is then known to +-6 %.
  std::uint64_t enough_samples = 100;
  double notable_share = 0.1;      // of all samples: worth a sentence, or a verdict of its own
  double negligible_share = 0.02;  // below this, work was not done there
  // Calls of fewer FLOP together are no work: numpy multiplies two vectors of two elements when it
  // is imported.
  double least_flops = 1000;
  // Samples decide which library served from this share on; below, the calls do.
  double deciding_share = 0.05;
};

struct RunVerdictInput {
  const report::BlasEvidence& evidence;
  const std::vector<report::LadderRung>& ladder;  // empty: not climbed
  std::vector<std::string> isa;                   // of the machine
  std::size_t cpus = 1;                           // that the program could use
  std::vector<InstalledBlas> installed = {};      // for the mend; may be empty
};

// Fills everything but evidence, ladder and ladder_note.
report::RunBlas judge_run(const RunVerdictInput& input, const RunThresholds& thresholds = {});

// The library whose ladder is to be climbed: path of the one that served, else of the one that has
// chosen a core; "" when none did.
std::string library_to_measure(const report::BlasEvidence& evidence);

}  // namespace hwprof::blas
