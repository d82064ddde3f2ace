// What the times of a command that was run again and again say: best, median, interval, and the
// runs that stand out, with what they had more of than the others. Pure.
#pragma once

#include "src/model/repeats.h"

namespace hwprof {

// Fills the times, the outliers and the notes on them; `repeats.runs` and `warmup` are given.
void summarise(report::Repeats& repeats);

}  // namespace hwprof
