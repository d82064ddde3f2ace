// What was measured of one piece of work: its slices, its pieces, its counts.
#pragma once

#include <cstdint>
#include <vector>

#include "counters/perf/counting.h"
#include "src/measure/stopwatch.h"
#include "src/model/row.h"

namespace hwprof {

// No order statistic brackets the median with 95 % below six samples: 2 (1/2)^5 > 0.05.
inline constexpr std::size_t kMinSamplesForInterval = 6;

struct Measurement {
  // Of work in parts, a slice is a call, and nobody looked what else happened in it. A slice of
  // work with one part is many pieces, each a call or as many as fill 0.3 ms, with the FMA peak
  // between them: its time is the median piece's, its ratio the median of theirs.
  std::vector<report::Slice> slices;
  report::LeftOut left_out;    // slices that are not among them; those elsewhere whatever remains
  bool disturbed = false;      // too few others were left: they are among them
  bool lost = false;           // there was one of which no piece is left: a clock stepped back
  std::vector<double> pieces;  // nanoseconds of a call on the clock that counts
  // Rate of the baseline over its own, a slice each: of the two of the baseline around it.
  std::vector<double> baseline_ratios;
  double min_ns = 0;   // of those
  double wall_ns = 0;  // of all timed calls
  std::uint64_t calls = 0;
  double on_cpu_ns = 0;     // of `wall_ns`; of several threads their mean
  bool waits_known = true;  // false: a kernel that does not tell, so nothing was left out
  std::uint64_t calls_a_slice = 0;
  Tally tally;  // counts of the same calls

  // Nanoseconds of a call in a piece of `calls`.
  void add_time(const Span& span, std::uint64_t calls);
  // A slice of its own.
  void add_call(const Span& span);
  // To the slices from `first` on.
  void add_peaks(std::size_t first, double flops, double peak_gflops);
  // Slices in which something else happened, unless too few others are left.
  void leave_out_disturbed();

  // Of the slices, those that have it.
  [[nodiscard]] std::vector<double> values(double report::Slice::*member) const;
  [[nodiscard]] std::vector<double> peak_ratios() const;
};

struct WorkTimes {
  Measurement whole;
  std::vector<Measurement> parts;  // empty: there is one
  Measurement sum;                 // of the parts, of each call with the clock read between them
  double clock_ns = 0;             // of a reading of that clock: taken off each part's time
};

}  // namespace hwprof
