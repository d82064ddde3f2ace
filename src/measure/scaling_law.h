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

// Of the exponent of time over model, which is 0 where the model is right. Over a doubling it is
// 3.5 % of time; n log n differs from n by 1 / ln n (0.087 at n = 100,000), a wrong power by 1.
inline constexpr double kExponentTolerance = 0.05;
inline constexpr double kOffLine = 0.15;  // of a point of the line, relative
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

// `points` by ascending size. Equivalence, not overlap: the law agrees where from some size on the
// whole interval of the exponent of time over model is within the tolerance, and every point with
// its noise within kOffLine of the line; and no range of the largest sizes alone contradicts. It is
// refused where the larger half of the sizes, or a smaller upper part, is wholly beyond; what is
// neither is not judged, and the text says what it would take. A law that agrees tells what is
// different below its range, one that does not, why in all of it; the causes of counts are not
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
