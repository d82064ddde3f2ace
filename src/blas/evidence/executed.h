// E4: which library's loops the CPU time went to, how wide they compute and on how many threads.
// E5, the speed of the calls themselves: FLOP by their shapes over the time inside them, against
// the peak of the same machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/blas.h"
#include "src/observe/samples/sampling.h"

namespace hwprof::blas {

// Pure but for looking into the files that the hot spots name, to say who made them.
report::Executed executed(const observe::SampleProfile& profile);

// Pure. `core_peak_gflops`: float32 FMA peak of one core; absent: there is no fraction.
report::AchievedRate achieved_rate(const report::Called& called, const report::Executed& executed,
                                   const std::vector<report::LoadedLibrary>& loaded,
                                   std::optional<double> core_peak_gflops);

// Pure: fills, of each routine in `called`, its share of the time inside the calls and, where it is
// known how many cores worked in them, its fraction of the peak in `achieved_rate`; of oneDNN
// and FFTW that alone. `one_cpu`: the
// program could run on no more.
void add_call_rates(report::BlasEvidence& evidence, bool one_cpu);

// How many times the peak is that of a routine's precision; absent: that peak is not measured.
// `type`: of its numbers, "f32", where they do not go by its name.
std::optional<double> peak_weight_of(std::string_view symbol, std::string_view type = "");
// Of a rate of calls of one routine; `peak_gflops` is of float32. Absent: of a precision whose peak
// is not measured, or there is none.
std::optional<double> share_of_peak(const std::string& symbol, double gflops, double peak_gflops,
                                    std::string_view type = "");

}  // namespace hwprof::blas
