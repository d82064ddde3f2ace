// From the measured points of a sweep to its laws and its verdict. Pure.
#pragma once

#include "src/model/sweep_record.h"

namespace hwprof {

// Fills laws, verdict and what the model says of each point; `sweep` has its rows and, of each
// point, the sizes and the model's bytes. One law of time and one of counted FLOP a swept size, the
// other held at its largest, where fixed costs matter least; of two sizes also both in one fit.
void judge_sweep(report::Sweep& sweep);

}  // namespace hwprof
