// What the times of a command that was run again and again say: best, median, interval, and the
// runs that stand out, with what they had more of than the others. Pure.
#pragma once

#include <span>
#include <vector>

#include "src/model/record.h"
#include "src/model/run_record.h"

namespace hwprof {

// Fills the times, the outliers and the notes on them; `repeats.runs` and `warmup` are given.
void summarise(report::Repeats& repeats);

// Which of repeated times stand far above the others, and what was seen to happen meanwhile. Pure.

// Below five samples none can be told from the spread of the others.
inline constexpr std::size_t kMinSamplesForOutliers = 5;

// What a time must exceed to stand out: the median and so many standard deviations (from the median
// absolute deviation, which outliers do not move) that of rows of mere noise 2 % have one that
// does, however many samples: of few, the deviation itself is hardly known. At least
// kMinSamplesForOutliers.
double outlier_fence(std::span<const double> times);

// Slices beyond the fence. A cause is what explains at least half of the excess: a slower clock by
// the FMA peak beside the slice; a migration, involuntary context switches or page faults by what
// other slices with as many lost. Else the cause is not known, and what else was unusual is said.
std::vector<report::Outlier> find_outliers(const std::vector<report::Slice>& slices);

}  // namespace hwprof
