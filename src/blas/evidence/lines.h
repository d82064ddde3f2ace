// The lines of a program with the calls that each made: samples say how the calls of a
// routine and shape are shared by lines, the audit library how many there were and how long they
// took. Pure.
#pragma once

#include <vector>

#include "src/model/line_use.h"
#include "src/observe/calls/audited_calls.h"
#include "src/observe/samples/line_profile.h"

namespace hwprof::blas {

struct Lines {
  std::vector<report::LineUse> lines;
  report::LinesKnown known;
};
Lines lines_of(const observe::LineProfile& profile, const std::vector<observe::CallKind>& kinds,
               double sampling_hz, const report::BlasEvidence& evidence);

// Once the peak has been measured, `core_peak_gflops` of float32 FMA of one core.
void add_line_peaks(std::vector<report::LineUse>& lines, double core_peak_gflops);

}  // namespace hwprof::blas
