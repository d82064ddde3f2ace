// Where the CPU time of a program went by its source lines, and what ran under each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/model/blas.h"
#include "src/model/fields.h"
#include "src/model/stacks.h"

namespace hwprof::model {

// Calls of one routine of one library that a line made: as many, and as long, as the samples under
// it say, of those that were counted and timed.
struct LineCall {
  std::string routine, library;
  std::string provider;  // of the library, "openblas"; "" none that is known
  std::string core;      // that the library had chosen; "" not known
  std::string kernel;    // that oneDNN had chosen for it: "jit:avx512_core"; "" not known
  std::string type;      // of its numbers, "f32", where they do not go by the routine's name
  double share = 0;      // of the program's CPU time: in these calls, threads added up
  std::uint64_t calls = 0;
  double time_ns = 0;                     // inside them
  std::optional<double> cores;            // CPU time in them over time_ns; absent: not known
  std::optional<double> gflops;           // absent: the FLOP of a shape are not known
  std::optional<double> peak_fraction;    // of the peak of `cores`
  std::vector<report::CallShape> shapes;  // most time first
};

// What a line ran that is no timed call.
struct LinePart {
  std::string what;  // "Python", "own code", "waiting", or the name of a file
  double share = 0;  // of the program's CPU time
};

struct LineUse {
  std::string file;
  std::int32_t line = 0;
  std::string function;
  Language language = Language::kPython;
  std::optional<std::string> source;  // absent: the file is not there
  // Of the program's CPU time: in the line and in libraries that it calls; anywhere under it.
  double self_share = 0, total_share = 0;
  double cpu_ns = 0;            // of self_share
  std::vector<LineCall> calls;  // most time first
  std::vector<LinePart> parts;  // most time first
};

// CPU time that has no line.
struct LineGap {
  std::string reason;
  double share = 0;  // of the program's CPU time
};

struct LinesKnown {
  double coverage = 0;                // CPU time that has a line, over all
  std::vector<std::string> versions;  // of Python
  std::vector<LineGap> gaps;          // most time first
  // All shares are of the time in user mode: the kernel's, page faults included, was not sampled.
  bool user_mode = false;
  std::vector<std::string> notes;
};

template <>
const Record& record<LineCall>();
template <>
const Record& record<LinePart>();
template <>
const Record& record<LineUse>();
template <>
const Record& record<LineGap>();
template <>
const Record& record<LinesKnown>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::LineCall, model::LinePart, model::LineUse, model::LineGap, model::LinesKnown;
}  // namespace hwprof::report
