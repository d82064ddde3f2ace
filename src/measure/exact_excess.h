// Where what was executed differs from the complexity model: the difference of FLOP, taken apart
// into the operations that make it up. Pure.
#pragma once

#include <string>
#include <vector>

#include "src/model/cost.h"
#include "src/model/exact_record.h"

namespace hwprof {

// A sentence of the kinds of operations that were executed more often than the model has them, and
// one of those that were executed less often; empty: each is met exactly. All of them together are
// the difference of FLOP. `by_blas`: a BLAS
// computes the products, which scales by alpha and beta and adds up panels.
std::vector<std::string> exact_excess(const Cost& model, const model::ExactCount& count,
                                      bool by_blas);

}  // namespace hwprof
