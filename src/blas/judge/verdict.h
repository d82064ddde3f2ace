// From evidence to one word, the factor lost, and the exact mend. Pure: tested on made-up inputs.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/blas/evidence/libraries.h"
#include "src/blas/evidence/selected.h"
#include "src/model/record.h"

namespace hwprof::blas {

// All thresholds of the verdict, in one place.
struct Thresholds {
  double optimal_factor = 1.1;  // within this of the best rung
  // Two core types of one library with the same vectors, such as Haswell and Zen, mostly share
  // their kernels: below this, which of them is faster changes from run to run on a busy machine.
  double same_vectors_factor = 1.3;
  double suboptimal_factor = 2.5;  // up to this; above: unoptimised
  // A kernel of half the width reaches at most 0.5 of the peak: above this, the widest useful
  // vectors are in use, whatever their name. Below it, the width must be known to be the widest.
  double full_width_fraction = 0.55;
};

struct VerdictInput {
  std::optional<Identity> identity;  // absent: no BLAS could be loaded
  std::string path;
  std::string requested;  // --blas; empty: it is what programs get here
  std::map<std::string, std::string> environment;
  std::vector<report::LadderRung> ladder;  // may be empty (--no-ladder)
  std::vector<std::string> isa;            // of the machine
  std::vector<InstalledBlas> installed;
  std::size_t pinned_cpus = 1;
};

struct Verdict {
  std::string verdict = "inconclusive";  // or "optimal", "suboptimal", "unoptimised"
  std::optional<double> factor;          // fastest rung / as found, at least 1
  std::string why, fix;                  // `fix` is empty when nothing is to be mended
};

Verdict judge(const VerdictInput& input, const Thresholds& thresholds = {});

}  // namespace hwprof::blas
