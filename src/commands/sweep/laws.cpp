// From the measured points of a sweep to its laws and its verdict.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "counters/perf/metrics.h"
#include "src/commands/sweep/sweep.h"
#include "src/measure/roofline.h"
#include "src/measure/scaling_law.h"
#include "src/measure/statistics.h"

namespace hwprof {
namespace {

using report::Row;
using report::ScalingLaw;
using report::Sweep;

// What costs nothing by the model (reshape) grows with no power.
bool has_law(const Row& row) { return row.time_ns && row.model.cost_units > 0; }

std::vector<double> slices_ns(const Row& row) {
  std::vector<double> samples;
  for (const report::Slice& slice : row.time_ns->slices) samples.push_back(slice.work_ns);
  return samples;
}

// Indices of the points at which every swept size but `size` is at its largest.
std::vector<std::size_t> line_along(const Sweep& sweep, std::size_t size) {
  std::vector<std::size_t> line;
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    bool held = true;
    for (std::size_t other = 0; other < sweep.swept.size(); ++other)
      held = held && (other == size || sweep.points[i].at[other].second == sweep.swept[other].high);
    if (held) line.push_back(i);
  }
  return line;
}

LawSubject subject_of(const Sweep& sweep, std::size_t size, std::string quantity) {
  LawSubject subject{.quantity = std::move(quantity),
                     .size = sweep.swept[size].name,
                     .needs_blas = sweep.blas.has_value()};
  if (sweep.swept.size() > 1) {
    const report::SweptSize& other = sweep.swept[1 - size];
    subject.held = fmt::format("{}={}", other.name, other.high);
  }
  if (sweep.run.peak) subject.levels = cache_levels(sweep.run.machine, sweep.run.peak->threads);
  return subject;
}

ScalingLaw time_law(const Sweep& sweep, std::size_t size) {
  std::vector<LawPoint> points;
  for (const std::size_t i : line_along(sweep, size)) {
    const Row& row = sweep.points[i].row;
    if (!has_law(row)) continue;
    points.push_back({sweep.points[i].at[size].second, row.model.cost_units, slices_ns(row),
                      sweep.points[i].working_set_bytes});
  }
  return scaling_law(points, subject_of(sweep, size, "time"));
}

// Why the FLOP of a row cannot be fitted; empty where they can.
std::string no_flops(const Row& row) {
  if (row.model.flops == 0) return "its model has comparisons, but no FLOP";
  if (row.exact && !row.exact->count) return row.exact->reason;
  if (row.exact) return row.exact->count->flops > 0 ? "" : "0 were executed";
  for (const EventCount& count : row.counters) {
    if (count.name != "flops") continue;
    if (count.value.value_or(0) > 0) return "";
    return count.value ? "0 were counted" : count.reason;
  }
  return row.reason.empty() ? "no flops event was asked for" : row.reason;
}

// By --exact, where it was given; else by the PMU. Only where no_flops() has no reason.
double flops_of(const Row& row) {
  return row.exact ? static_cast<double>(row.exact->count->flops)
                   : *value_of(row.counters, "flops");
}

ScalingLaw flop_law(const Sweep& sweep, std::size_t size) {
  const bool exact = !sweep.points.empty() && sweep.points.front().row.exact;
  const LawSubject subject = subject_of(sweep, size, exact ? "exact-flop" : "flop");
  std::vector<LawPoint> points;
  for (const std::size_t i : line_along(sweep, size)) {
    const Row& row = sweep.points[i].row;
    if (const std::string reason = no_flops(row); !reason.empty()) {
      ScalingLaw law = scaling_law({}, subject);
      law.reason = reason;
      law.text = "not counted: " + reason;
      return law;
    }
    points.push_back({sweep.points[i].at[size].second,
                      row.model.flops,
                      {flops_of(row)},
                      sweep.points[i].working_set_bytes});
  }
  return scaling_law(points, subject);
}

std::vector<ScalingLaw> laws_of_grid(const Sweep& sweep) {
  std::vector<GridPoint> points;
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const Row& row = sweep.points[i].row;
    if (!has_law(row)) continue;
    points.push_back({sweep.points[i].at[0].second, sweep.points[i].at[1].second,
                      row.model.cost_units, slices_ns(row)});
  }
  return joint_laws(points, sweep.swept[0].name, sweep.swept[1].name);
}

// The median time of a cost unit, over the points of the laws that agree where there are any.
std::optional<double> unit_ns(const Sweep& sweep) {
  std::vector<double> agreeing, all;
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const Row& row = sweep.points[i].row;
    if (!has_law(row)) continue;
    all.push_back(work_ns(row) / row.model.cost_units);
    bool inside = sweep.agrees.value_or(false);
    for (std::size_t size = 0; size < sweep.swept.size(); ++size)
      inside = inside && sweep.points[i].at[size].second >= sweep.laws[size].from;
    if (inside) agreeing.push_back(all.back());
  }
  if (all.empty()) return std::nullopt;
  return median(agreeing.empty() ? all : agreeing);
}

std::optional<bool> verdict(const std::vector<ScalingLaw>& laws) {
  std::optional<bool> all = true;
  for (const ScalingLaw& law : laws) {
    if (law.agrees == false) return false;
    if (!law.agrees) all = std::nullopt;
  }
  return all;
}

}  // namespace

void judge_sweep(Sweep& sweep) {
  sweep.tolerance = kExponentTolerance;
  std::vector<std::string> texts;
  for (std::size_t size = 0; size < sweep.swept.size(); ++size) {
    sweep.laws.push_back(time_law(sweep, size));
    texts.push_back(sweep.laws.back().text);
  }
  sweep.agrees = verdict(sweep.laws);
  sweep.text = fmt::format("{}", fmt::join(texts, "; "));
  if (sweep.swept.size() > 1)
    for (ScalingLaw& law : laws_of_grid(sweep)) sweep.laws.push_back(std::move(law));
  for (std::size_t size = 0; size < sweep.swept.size(); ++size)
    sweep.laws.push_back(flop_law(sweep, size));

  const std::optional<double> unit = unit_ns(sweep);
  const std::vector<report::Bandwidth> levels = subject_of(sweep, 0, "time").levels;
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    report::SweepPoint& point = sweep.points[i];
    point.level = level_of(point.working_set_bytes, levels);
    const Row& row = sweep.points[i].row;
    if (unit) point.model_ns = *unit * row.model.cost_units;
    if (unit && row.time_ns) point.time_to_model = work_ns(row) / *point.model_ns;
  }
}

}  // namespace hwprof
