// How many cores worked in the calls of a routine: samples of all threads that lie in them, over
// their time. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "src/model/blas.h"
#include "src/observe/calls/audited_calls.h"
#include "src/observe/samples/line_profile.h"

namespace hwprof::blas {

// Fewer samples do not tell how many cores there were: of 20 the error is 22 % (Poisson).
inline constexpr double kEnoughForCores = 20;

// Of which calls others were made, with samples: those lie in the inner call alone, so that the
// outer one's do not tell how many cores it had. By library, since a call has the name of its
// caller's file and no more.
std::set<std::string> libraries_that_call(const observe::LineProfile& profile,
                                          const std::vector<observe::CallKind>& kinds);

// Fills `cores` of each call in `called` that has as many samples and no other call inside. Only a
// profile by line knows which call a sample lies in.
void add_cores(const observe::LineProfile& profile, const std::vector<observe::CallKind>& kinds,
               double sampling_hz, report::Called& called);

}  // namespace hwprof::blas
