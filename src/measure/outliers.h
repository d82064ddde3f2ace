// Which of repeated times stand far above the others, and what was seen to happen meanwhile. Pure.
#pragma once

#include <vector>

#include "src/model/record.h"

namespace hwprof {

// Below five samples none can be told from the spread of the others.
inline constexpr std::size_t kMinSamplesForOutliers = 5;

// Slices beyond the median + 3 sigma, with sigma from the median absolute deviation (x 1.4826 for
// normal noise), which the outliers themselves do not move. The cause is what is unusual in such a
// slice beside its time: a migration, more involuntary context switches or page faults than the
// median slice has, an FMA peak beside it more than 3 % below the median one; else "unknown".
std::vector<report::Outlier> find_outliers(const std::vector<report::Slice>& slices);

}  // namespace hwprof
