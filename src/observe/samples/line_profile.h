// Where the CPU time of a program went by its source lines, in samples.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/model/stacks.h"

namespace hwprof::observe {

// Where a sample was taken: in a native stack, under functions of Python.
struct LineSite {
  static constexpr std::uint32_t kNoStack = ~std::uint32_t{0};

  std::uint32_t native = kNoStack;  // StackTable
  std::uint32_t python = 0;         // LineStacks; 0: none
  bool in_call = false;  // of a routine that was watched: what that has inside is no line

  auto operator<=>(const LineSite&) const = default;  // NOLINT(modernize-use-nullptr)
};

// The lines there, innermost first, as SourceLines numbers them: the first has the sample as its
// own. Empty: none is known.
struct LineStack {
  std::vector<std::uint32_t> lines;
  bool own_code = false;  // the compiler made what ran of the first, and no other code was called
};

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
  double self = 0;   // in it, and in what it calls that has no line of the user's
  double total = 0;  // anywhere under it
  std::map<std::string, double> parts;       // of self outside timed calls, by what ran
  std::map<std::uint64_t, LineCalls> calls;  // of self, by TimedCall::kind
};

// What ran in a sample: one of these, or the name of a file.
inline constexpr const char* kPythonItself = "Python";
inline constexpr const char* kOwnCode = "own code";  // of a compiled line
inline constexpr const char* kWaiting = "waiting";

struct LineProfile {
  double samples = 0, with_line = 0;
  std::vector<LineSamples> lines;         // most of self first
  std::map<std::string, double> without;  // why they have none
  std::set<std::string> versions;         // of Python
  // In or under code of the user's that was built without line information, by its file.
  std::map<std::string, double> unlined;
  std::vector<std::string> notes;
  // Samples by their native stack and the one of Python around it (StackTable, LineStacks; 0:
  // none).
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> stacks;
};

}  // namespace hwprof::observe
