// `hwprof events --calibrate`.
#pragma once

#include "src/base/result.h"
#include "src/model/calibration.h"

namespace hwprof {

// Of the PMU that counts for `cpu`, which the caller is pinned to; kept for later runs where there
// was something to calibrate. A machine without a PMU, or where nothing can be counted exactly, is
// an answer with its reason.
Result<model::Calibration> calibrate_here(unsigned cpu);

}  // namespace hwprof
