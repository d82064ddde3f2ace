// Where the CPU time of a program went by the lines of its Python, in samples.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/observe/python/line_stacks.h"

namespace hwprof::observe {

// Calls of one routine and shape under one line.
struct LineCalls {
  double samples = 0;
  double own_samples = 0;  // of the threads that called
  double inverse_ns = 0;   // of the calls that those lie in: sum of 1 / duration

  LineCalls& operator+=(const LineCalls& more) {
    samples += more.samples;
    own_samples += more.own_samples;
    inverse_ns += more.inverse_ns;
    return *this;
  }
  LineCalls& operator*=(double factor) {
    samples *= factor;
    own_samples *= factor;
    inverse_ns *= factor;
    return *this;
  }
};

struct LineSamples {
  report::SourceLine line;
  double self = 0;                      // in it, and in what it calls that is no code of the user's
  double total = 0;                     // anywhere under it
  std::map<std::string, double> parts;  // of self outside timed calls, by what ran
  std::map<std::uint64_t, LineCalls> calls;  // of self, by TimedCall::kind
};

// What ran in a sample: one of these, or the name of a file.
inline constexpr const char* kPythonItself = "Python";
inline constexpr const char* kWaiting = "waiting";

struct LineProfile {
  double samples = 0, with_line = 0;
  std::vector<LineSamples> lines;         // most of self first
  std::map<std::string, double> without;  // why they have none
  std::set<std::string> versions;         // of Python
  std::vector<std::string> notes;
  // Samples by their native stack and the one of Python around it (StackTable, LineStacks; 0:
  // none).
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> stacks;
};

}  // namespace hwprof::observe
