// One operation in one variant: what every workload measures. Part of record.h, with its rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "counters/reading.h"

namespace hwprof::report {

struct TimeNs {
  double median = 0, min = 0, mean = 0;
  // Bootstrap, of the median; absent below six samples, where none has 95 %.
  std::optional<double> ci95_low, ci95_high;
  int samples = 0;  // slices
};

struct Model {
  double flops = 0, comparisons = 0, bytes = 0, cost_units = 0;  // a call
};

struct Row {
  std::string op, variant;
  std::vector<std::pair<std::string, std::uint64_t>> shape;  // in the order to print
  int threads = 1;
  std::uint64_t calls = 0;        // timed calls
  std::optional<TimeNs> time_ns;  // absent: `reason`
  Model model;
  std::optional<double> gflops;         // absent when the model has no FLOP
  std::optional<double> peak_fraction;  // median of ratios of interleaved slices
  std::optional<double> peak_fraction_low, peak_fraction_high;  // 95 % interval
  std::optional<double> roofline_fraction;                      // roofline time / median time
  std::optional<double> roofline_ns;    // the larger of FLOP / peak and bytes / bandwidth
  double intensity = 0;                 // FLOP / byte
  std::string bound;                    // "compute", "memory"
  std::string bandwidth_level;          // where the working set lives: "L2"
  std::optional<double> forward_share;  // share of the forward pass of `pass`
  std::string pass;                     // name of that forward pass
  std::optional<double> max_rel_error;  // against the reference in double precision
  std::uint64_t checked_documents = 0;
  std::optional<double> counted_to_model_flops;
  std::vector<EventCount> counters;
  bool optimised = true;  // false: the naive reference
  std::string reason;     // why the row has no time
};

}  // namespace hwprof::report
