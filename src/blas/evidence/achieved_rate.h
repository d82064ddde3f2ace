// E5, the speed of the calls themselves: FLOP by their shapes over the time inside them, against
// the peak of the same machine. Pure.
#pragma once

#include <optional>
#include <vector>

#include "src/model/blas.h"

namespace hwprof::blas {

// `core_peak_gflops`: float32 FMA peak of one core; absent: there is no fraction.
report::AchievedRate achieved_rate(const report::Called& called, const report::Executed& executed,
                                   const std::vector<report::LoadedLibrary>& loaded,
                                   std::optional<double> core_peak_gflops);

}  // namespace hwprof::blas
