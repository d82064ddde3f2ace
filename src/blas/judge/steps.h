// The rungs of a ladder that tell causes apart, and how much faster one is than another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/blas/judge/judge.h"

namespace hwprof::blas {

// Of what the rungs of one ladder are compared by: a program's own calls where they were made
// again, else the square product.
struct Speed {
  double value = 0;
  std::optional<double> low, high;
};
Speed speed_of(const report::LadderRung& rung);

// How many times as fast, with its 95 % interval where both rungs have one. Of a rung that was
// measured too seldom for an interval a loss is believed only beyond kUnknownSpread: `low` is that
// much below, `high` is the value, and `known` is false.
struct Ratio {
  double value = 1, low = 1, high = 1;
  bool known = true;
};
// Single blocks of one rung, beside builds, lie within 8 % of their median for most cores, and up
// to 25 % off for OpenBLAS's Sandybridge.
inline constexpr double kUnknownSpread = 1.25;
Ratio times_faster(const report::LadderRung& fast, const report::LadderRung& slow);

// The measured rungs that matter, found once. Pointers into the ladder. A rung whose products are
// wrong is none to be compared with.
struct Steps {
  const report::LadderRung* found = nullptr;      // as found
  const report::LadderRung* same_core = nullptr;  // the same core, no other variable
  const report::LadderRung* automatic = nullptr;  // what the library chooses by itself
  const report::LadderRung* best_own = nullptr;   // its fastest
  const report::LadderRung* best = nullptr;       // fastest of all
};
Steps find_steps(const Evidence& evidence, const std::vector<report::LadderRung>& ladder);

// The ladder as if it had been climbed inside the program: the rung that ran there is "as found".
// Empty when none of its rungs is what ran. `executed` is all that tells of an unknown library.
std::vector<report::LadderRung> ladder_of_program(const std::vector<report::LadderRung>& climbed,
                                                  const report::Blas& library,
                                                  VectorClass executed);

// The variable that forces a core type of `provider`, if it is set and read; else "".
std::string core_variable(Provider provider, const Evidence& evidence);
// The other variables that `provider` reads, but for the number of threads: a rung has one.
std::vector<std::string> other_variables(Provider provider, const Evidence& evidence);

}  // namespace hwprof::blas
