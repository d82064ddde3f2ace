// Calls on an object that was made before for one kind of work and one shape: a primitive of
// oneDNN, a plan of FFTW. Plain rows with the unit in each name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/model/fields.h"

namespace hwprof::model {

struct PreparedCall {
  std::string kind;            // "convolution", "c2c"; "": `reason`
  std::string direction;       // "forward_training", "backward_data"; "": it has none
  std::string implementation;  // what the library chose: "jit:avx512_core"; "": it has no name
  std::string type;            // of the numbers: "f32"; "": not known
  std::string shape;           // "64x3x32x32 * 16x3x3x3 -> 64x16x30x30", "8 of 512x512"
  std::string library;         // file that served it
  std::string caller;          // file that called; "": not known
  std::uint64_t count = 0;
  std::optional<double> time_ns;        // inside the calls, all threads added up
  std::optional<double> time_share;     // of the time in all calls of this list; absent: not timed
  std::optional<double> flops;          // over all calls; absent: the shape does not tell
  std::optional<double> cores;          // CPU time in the calls over time_ns; absent: not known
  std::optional<double> peak_fraction;  // of the peak of the cores that worked in them
  std::string peak_fraction_reason;     // why it is absent
  std::string reason;                   // why the kind is not known
};

// Of one calling thread.
std::optional<double> rate_of(const PreparedCall& call);
// "convolution backward_data"; the function's name where the kind is not known.
std::string routine_of(const PreparedCall& call);

template <>
const Record& record<PreparedCall>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::PreparedCall;
}  // namespace hwprof::report
