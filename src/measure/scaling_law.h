// Does a measured quantity grow with a size as the complexity model says? The exponents of both are
// compared from each size on: where sizes are small, what does not grow with them outweighs the
// rest, and no exponent is the algorithm's. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/measure/roofline.h"
#include "src/model/sweep_record.h"

namespace hwprof {

struct LawPoint {
  std::uint64_t size = 0;
  double model = 0;             // cost units, or FLOP
  std::vector<double> samples;  // of the quantity; at least one, all above 0
  double working_set_bytes = 0;
};

// An interval may miss the model's exponent by this. Over a doubling it is 7 % of time, what
// vectors that are not full and a cache that is a little slower make; yet n log n is told from n at
// n = 1000 (0.14), and a wrong power, which is off by 1, always.
inline constexpr double kExponentTolerance = 0.1;
inline constexpr double kOffLine = 0.1;  // of a point of the line, relative
inline constexpr std::size_t kLeastPoints = 4;
inline constexpr double kLeastSpread = 3;  // largest over smallest size of an agreeing range

std::vector<double> sizes_of(std::span<const LawPoint> points);

// What the law is of: names for its sentences, and what its causes are looked for in.
struct LawSubject {
  std::string quantity = "time";
  std::string size{};  // "n"
  std::string held{};
  bool needs_blas = false;
  std::vector<report::Bandwidth> levels{};  // fastest first; empty: no cache is known
};

// `points` by ascending size. Agrees where from some size on the interval, widened by the
// tolerance, holds the model's exponent, and the points lie on a line: the interval is no wider
// than the tolerance itself, or no point is further off than kOffLine. A law that agrees tells what
// is different below its range, one that does not, why in all of it; the causes of counts are not
// looked for.
report::ScalingLaw scaling_law(std::span<const LawPoint> points, const LawSubject& subject);

struct GridPoint {
  std::uint64_t first = 0, second = 0;
  double model = 0;
  std::vector<double> samples;
};

// Both exponents in one fit over the whole grid: a law for each.
std::vector<report::ScalingLaw> joint_laws(std::span<const GridPoint> points,
                                           const std::string& first, const std::string& second);

// Why a quantity does not grow as its model, by what the points themselves show
// (scaling_causes.cpp). Sentences; "no cause found" where the evidence is for none. `points` by
// ascending size, times in nanoseconds; those from `settled` on follow the model.
std::vector<std::string> scaling_causes(std::span<const LawPoint> points, std::size_t settled,
                                        const LawSubject& subject);

}  // namespace hwprof
