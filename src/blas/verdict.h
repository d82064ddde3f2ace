// From evidence to one word, the factor lost, and the exact mend. Pure: tested on made-up inputs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/blas/evidence.h"
#include "src/report/record.h"

namespace hwprof::blas {

// All thresholds of the verdict, in one place.
struct Thresholds {
  double optimal_factor = 1.1;     // within this of the best rung
  double suboptimal_factor = 2.5;  // up to this; above: unoptimised
};

struct VerdictInput {
  std::optional<Identity> identity;  // absent: no BLAS could be loaded
  std::string path;
  std::map<std::string, std::string> environment;
  std::vector<report::LadderRung> ladder;  // may be empty (--no-ladder)
  std::vector<std::string> isa;            // of the machine
  std::vector<InstalledBlas> installed;
  std::size_t pinned_cpus = 1;
};

struct Verdict {
  std::string verdict;  // "optimal", "suboptimal", "unoptimised", "inconclusive"
  std::optional<double> factor;
  std::string why, fix;
};

Verdict judge(const VerdictInput& input, const Thresholds& thresholds = {});

}  // namespace hwprof::blas
