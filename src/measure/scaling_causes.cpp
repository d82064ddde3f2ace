// Why a quantity does not grow as its model.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "src/base/format.h"
#include "src/measure/power_law.h"
#include "src/measure/scaling_law.h"
#include "src/measure/statistics.h"

namespace hwprof {
namespace {

constexpr double kFits = 0.15;           // relative distance of every point from the line
constexpr double kLeastShare = 0.1;      // of a fixed cost in the time of the smallest size
constexpr double kDearer = 1.1;          // a unit beyond a cache level
constexpr double kJump = 1.3;            // a unit at the next size, by another kernel
constexpr double kSteady = 1.15;         // and at every other pair of neighbours less than this
constexpr std::size_t kLeastForFit = 3;  // two points lie on any line

// What is asked of all points, once.
struct Course {
  std::vector<double> times_ns, models, units_ns;  // units_ns: time of a unit of the model
  std::vector<std::string> levels;                 // that hold the working sets; empty: unknown
};

Course course_of(std::span<const LawPoint> points, const std::vector<report::Bandwidth>& levels) {
  Course course;
  for (const LawPoint& point : points) {
    course.times_ns.push_back(median(point.samples));
    course.models.push_back(point.model);
    course.units_ns.push_back(course.times_ns.back() / point.model);
    course.levels.push_back(level_of(point.working_set_bytes, levels));
  }
  return course;
}

struct Crossing {
  std::size_t at = 0;  // the first point beyond
  double dearer = 0;   // time of a unit beyond over that at the last point before
};

// Where a level is left and a unit takes longer beyond. A unit that became dearer all the way up to
// there has another cause.
std::vector<Crossing> dear_crossings(std::span<const double> sizes, const Course& course,
                                     std::size_t end) {
  std::vector<Crossing> found;
  for (std::size_t i = 2; i < end; ++i) {
    if (course.levels[i] == course.levels[i - 1]) continue;
    const std::size_t before = found.empty() || i - found.back().at < 2 ? 0 : found.back().at;
    const std::span units = std::span(course.units_ns).subspan(before, i - before);
    if (power_exponent(sizes.subspan(before, i - before), units) > kExponentTolerance) continue;
    // Just beyond the edge most of the data is still inside, and one point may be anything: the
    // whole stretch beyond counts.
    std::vector<double> beyond;
    for (std::size_t j = i; j < end && course.levels[j] == course.levels[i]; ++j)
      beyond.push_back(course.units_ns[j]);
    const double dearer = median(std::move(beyond)) / course.units_ns[i - 1];
    if (dearer > kDearer) found.push_back({i, dearer});
  }
  return found;
}

// Over the points before the first cache that is left: beyond, a unit has another price.
std::optional<std::string> fixed_cost_text(std::span<const LawPoint> points, const Course& course,
                                           std::size_t end, const std::string& size) {
  if (end < kLeastForFit) return std::nullopt;
  const FixedCost fit =
      fit_fixed_cost(std::span(course.models).first(end), std::span(course.times_ns).first(end));
  if (!(fit.fixed > 0 && fit.rate > 0 && fit.worst <= kFits)) return std::nullopt;
  const double share = fit.fixed / course.times_ns.front();
  if (share < kLeastShare) return std::nullopt;
  return fmt::format(
      "a fixed cost, which does not grow with {0}: about {1} a call, {2:.0f} % of the time "
      "at {0}={3}, {4:.1f} % at {0}={5}",
      size, report::duration(fit.fixed), 100 * std::min(1.0, share), points.front().size,
      100 * fit.fixed / course.times_ns[end - 1], points[end - 1].size);
}

std::optional<std::string> other_kernel_text(std::span<const LawPoint> points, const Course& course,
                                             const std::string& size) {
  std::optional<std::size_t> jump;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const double change = std::abs(std::log(course.units_ns[i] / course.units_ns[i - 1]));
    if (change < std::log(kSteady)) continue;
    if (jump || change < std::log(kJump) || course.levels[i] != course.levels[i - 1])
      return std::nullopt;
    jump = i;
  }
  if (!jump) return std::nullopt;
  const double before = course.units_ns[*jump - 1], after = course.units_ns[*jump];
  return fmt::format(
      "another kernel: between {0}={1} and {0}={2}, and nowhere else, a unit of work becomes "
      "{3:.2g} times {4} at once, as where a library chooses by size",
      size, points[*jump - 1].size, points[*jump].size,
      std::max(before, after) / std::min(before, after), after < before ? "cheaper" : "dearer");
}

}  // namespace

std::vector<std::string> scaling_causes(std::span<const LawPoint> points, std::size_t settled,
                                        const LawSubject& subject) {
  const Course course = course_of(points, subject.levels);
  const std::size_t end = std::min(points.size(), settled + 1);
  std::vector<std::string> causes;
  const std::vector<Crossing> crossings = dear_crossings(sizes_of(points), course, end);
  const std::size_t same_price = crossings.empty() ? points.size() : crossings.front().at;
  if (auto text = fixed_cost_text(points, course, same_price, subject.size)) {
    causes.push_back(*std::move(text));
  }
  for (const auto& [at, dearer] : crossings) {
    causes.push_back(fmt::format(
        "a cache that is left: from {}={} on the model's bytes ({:.3g} KiB) no longer fit {}, but "
        "{}; a unit of work takes {:.2g} times as long there",
        subject.size, points[at].size, points[at].working_set_bytes / 1024, course.levels[at - 1],
        course.levels[at], dearer));
  }
  if (causes.empty() && subject.needs_blas) {
    if (auto text = other_kernel_text(points, course, subject.size)) {
      causes.push_back(*std::move(text));
    }
  }
  if (causes.empty()) causes.emplace_back("no cause found");
  return causes;
}

}  // namespace hwprof
