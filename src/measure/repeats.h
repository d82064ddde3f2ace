// What the times of a command that was run again and again say: best, median, interval, and the
// runs that stand out, with what they had more of than the others. Pure.
#pragma once

#include <span>
#include <vector>

#include "src/report/repeats.h"

namespace hwprof {

// What a sample must exceed to stand out: the median and three standard deviations, estimated from
// the median absolute deviation, which outliers do not move, or `least_fraction` of the median and
// `least_step`, whichever is more. `samples` must not be empty.
double upper_fence(std::span<const double> samples, double least_fraction, double least_step);

// Fills the times, the outliers and the notes on them; `repeats.runs` and `warmup` are given.
void summarise(report::Repeats& repeats);

}  // namespace hwprof
