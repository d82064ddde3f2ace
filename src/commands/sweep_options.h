// What `hwprof sweep` was asked to do: plain data, checked by the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/commands/measure_options.h"
#include "src/workloads/operations/operation.h"

namespace hwprof {

struct SweepRange {
  std::string name;  // "n"
  std::uint64_t low = 0, high = 0;
};

struct SweepOptions {
  MeasureOptions measure;   // as `hwprof profile` has them
  std::string op, variant;  // variant empty: the best of our own
  Sizes sizes;              // that stay
  std::vector<SweepRange> ranges;
  std::optional<std::uint64_t> points;  // sizes of each range
  bool require_agreement = false;
};

}  // namespace hwprof
