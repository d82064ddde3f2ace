// Peak kernels that Highway cannot make: AVX without FMA (Sandy and Ivy Bridge, Bulldozer), for
// which it has no target, and SVE, whose vectors fit into no array. Without them the peak of a
// Sandy Bridge would be that of its 128 bits, half the truth, and that of an A64FX a quarter.
#pragma once

#include <vector>

#include "src/measure/peak.h"

namespace hwprof {

// Those that this CPU can run: "avx", "sve".
std::vector<FmaKernel> kernels_by_hand();

}  // namespace hwprof
