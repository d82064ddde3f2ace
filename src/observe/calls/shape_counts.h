// The calls of one site by their shapes: how many, and how long those took that have returned.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "src/model/run_record.h"
#include "src/observe/routines/call_shape.h"

namespace hwprof::observe {

inline constexpr std::size_t kMostShapes = 256;  // of a site; a report with more helps nobody

// Turns counts of a sample into counts of what it is a sample of: whole numbers, whose sum is that
// of all, whatever the parts.
class Scale {
 public:
  Scale(std::uint64_t samples, std::uint64_t all)
      : ratio_(samples > 0 ? static_cast<double>(all) / static_cast<double>(samples) : 0),
        samples_(samples),
        all_(all) {}
  std::uint64_t operator()(std::uint64_t samples);
  [[nodiscard]] double ratio() const { return ratio_; }

 private:
  double ratio_;
  std::uint64_t samples_, all_;
  std::uint64_t seen_ = 0, given_ = 0;
};

// Numbers that calls met: by the flags of some, and in the operands of some.
struct MetNumbers {
  std::uint64_t usual = 0, denormal = 0, invalid = 0, flushed = 0;  // calls
  double denormal_ns = 0;
  double usual_log2 = 0, denormal_log2 = 0;  // of their times, added up
  std::uint64_t operands = 0, nan_operands = 0, infinite_operands = 0, denormal_operands = 0;

  MetNumbers& operator+=(const MetNumbers& other);
  // Of calls of one shape: the time of one with denormal numbers / of one without; absent where
  // either are few.
  [[nodiscard]] std::optional<double> slowdown() const;
};

// Calls, and those of them whose time is known.
struct CountedCalls {
  std::uint64_t count = 1, timed = 0;
  double time_ns = 0;
  std::optional<MetNumbers> met = {};  // absent: nobody looked

  CountedCalls& operator+=(const CountedCalls& other) {
    count += other.count;
    timed += other.timed;
    time_ns += other.time_ns;
    if (other.met) met = met ? * met += *other.met : *other.met;
    return *this;
  }
};

// Shapes of one site, added up; those that find no room are counted.
class ShapeCounts {
 public:
  ShapeCounts() = default;
  explicit ShapeCounts(const Routine& routine) : routine_(routine) {}
  void add(const Shape& shape, const CountedCalls& calls = {});
  void add_others(const CountedCalls& calls = {});  // whose shape nobody has kept
  void merge(const ShapeCounts& other);
  void merge(const ShapeCounts& sample, Scale& scale);
  [[nodiscard]] CountedCalls all() const;
  // Fills count, time_ns, shapes, flops and calls_of_other_shapes of a site. FLOP of calls whose
  // shape is not known are not known, nor is the time where a call has none.
  void write(report::CallSite& site) const;

 private:
  void keep(const Shape& shape, const CountedCalls& calls);

  struct Less {
    bool operator()(const Shape& a, const Shape& b) const {
      return std::tie(a.m, a.n, a.k, a.form) < std::tie(b.m, b.n, b.k, b.form);
    }
  };
  Routine routine_;
  std::map<Shape, CountedCalls, Less> counts_;
  CountedCalls others_{.count = 0};
  double flops_ = 0;  // of all whose shape is known, kept or not
  bool all_known_ = true;
};

void most_flop_first(std::vector<report::CallSite>& sites);

}  // namespace hwprof::observe
