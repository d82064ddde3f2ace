// What a sweep measures: one operation at the sizes of one range, or of two in every combination.
// Pure; names every mistake before anything takes time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/commands/profile/measure_options.h"
#include "src/workloads/operations/operation.h"

namespace hwprof {

struct SweepRange {
  std::string name;  // "n"
  std::uint64_t low = 0, high = 0;
};

// What `hwprof sweep` was asked to do: plain data, checked by the command line.
struct SweepOptions {
  MeasureOptions measure;   // as `hwprof profile` has them
  std::string op, variant;  // variant empty: the best of our own
  Sizes sizes;              // that stay
  std::vector<SweepRange> ranges;
  std::optional<std::uint64_t> points;  // sizes of each range
  bool require_agreement = false;
};

struct SweepPlan {
  std::string op, variant;
  Sizes held{};                                  // sizes that stay
  std::vector<SweepRange> ranges{};              // one or two
  std::vector<std::vector<std::uint64_t>> at{};  // sizes of each point, in the order of `ranges`
  std::vector<OperationSpec> specs{};            // of each point
};

// Whole numbers from low to high, both included, each about the same multiple of the one before.
// Where both ends are whole cache lines of floats, so are those between: rows that begin inside a
// line cost up to 1.5 times as much (maxpool, AVX-512), which is no matter of growth.
std::vector<std::uint64_t> geometric_steps(std::uint64_t low, std::uint64_t high,
                                           std::uint64_t points);

// Takes an operation in the course's words: conv1d with a variant that only conv1d-maxpool has;
// pooling. All points are in memory at the same time, since their slices are interleaved.
Result<SweepPlan> plan_sweep(const SweepOptions& options, std::uint64_t memory_bytes);

}  // namespace hwprof
