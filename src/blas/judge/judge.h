// From evidence to one word, the factor lost, and the exact fix: the one judge of `profile`,
// `blas`, `run` and `attach`. Pure: tested on made-up evidence.
//
// How good a library is, is decided by the ladder: the measured speed of its core type against the
// others. Only where there is none, the width of its vectors decides.
//
// blas: which BLAS did the work, how well, and what would do it better: what is known of each
// library (providers/), what was seen (evidence/), what else could be had (ladder/), the verdict
// (judge/). It measures through src/measure and looks through src/observe; it prints nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/blas/providers/choice.h"
#include "src/blas/providers/cpu_support.h"
#include "src/blas/providers/providers.h"

namespace hwprof::blas {

// All thresholds of all verdicts.
struct Thresholds {
  double optimal_factor = 1.1;  // within this of the best rung
  // Of a core type that the library chose by itself, over another of its own whose vectors are no
  // wider. Haswell and Zen mostly share their kernels, and on a CPU that runs 512-bit vectors in
  // two halves those of 256 bits are as fast: below this, which is faster changes from run to run.
  double own_choice_factor = 1.3;
  double suboptimal_factor = 2.5;  // up to this; above: unoptimised
  // A kernel of half the width reaches at most 0.5 of the peak: above this, the widest useful
  // vectors are in use, whatever their name. Below it, the width must be known to be the widest.
  double full_width_fraction = 0.55;

  // Of a program. With fewer samples nothing is said of shares: 100 are a tenth of a second at
  // 997 Hz, and a share of 10 % is then known to +-6 %.
  std::uint64_t enough_samples = 100;
  double notable_share = 0.1;      // of all samples: worth a sentence, or a verdict of its own
  double negligible_share = 0.02;  // below this, work was not done there
  // Calls of fewer FLOP together are no work: numpy multiplies two vectors of two elements when it
  // is imported.
  double least_flops = 1000;
  // Samples decide which library did the work from this share on; below, the calls do.
  double deciding_share = 0.05;
};

struct Evidence {
  Identity library = {};       // of provider kNone: no BLAS could be loaded
  std::string requested = {};  // --blas; empty: it is what programs get here
  // Proven at work in a program: by what it computed with, where its core type says nothing. Else
  // it is only what a program would get, and the width of its vectors proves little.
  bool at_work = false;
  VectorClass executed = VectorClass::kNone;
  // Mapped by a program of which it is not known whether it calls it.
  bool loaded = false;
  std::map<std::string, std::string> environment = {};
  VisibleCpu cpu = {};
  std::vector<report::InstalledBlas> installed = {};
  // CPUs that the library may use, and the threads that it takes by itself; absent: not known.
  std::size_t cpus = 1;
  std::optional<int> threads = {};
  // Of the peak, that the calls of a program reached; absent: not known.
  std::optional<double> achieved_fraction = {};
  // Its calls have the names of every BLAS; else a prefix or a suffix of one build.
  bool plain_names = true;
  // Part of the file that calls it (a static program): that gets no other one by what the system
  // selects, nor by what it is started with.
  bool linked_in = false;
  std::string surer = {};  // what would tell more; "": nothing that the user left out
};

// `ladder` may be empty. The rung that is "as found" is what is judged.
report::Verdict judge(const Evidence& evidence, const std::vector<report::LadderRung>& ladder,
                      const Thresholds& thresholds = {});

}  // namespace hwprof::blas
