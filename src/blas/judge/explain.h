// Why a library is slower than what could be had, and what ends it.
//
// The ladder lets each cause be told from the others: as found -> the same core without the other
// variables -> what the library chooses by itself -> its best core -> the best library. A step that
// loses more than the threshold is a cause, and each has its own fix. Pure.
#pragma once

#include "src/blas/judge/judge.h"
#include "src/blas/judge/steps.h"

namespace hwprof::blas {

// Fills why and fix. The steps are those of a ladder whose best rung is faster than what was found.
report::Verdict explain_loss(const Evidence& evidence, const Steps& steps,
                             const Thresholds& thresholds);

}  // namespace hwprof::blas
