#include "src/observe/calls/shape_counts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/observe/audit/float_flags.h"
#include "src/observe/routines/flop_count.h"

namespace hwprof::observe {
namespace {

// What a program writes into the table of the audit library may be anything: no part exceeds its
// whole.
report::CallNumbers numbers_of(const Routine& routine, const CountedCalls& calls) {
  report::CallNumbers numbers;
  if (!calls.met) return numbers;
  const MetNumbers& met = *calls.met;
  if (audit::kTellsFloatFlags) {
    const std::uint64_t known = met.usual + met.denormal;
    numbers.flag_calls = known;
    numbers.denormal_calls = met.denormal;
    numbers.invalid_calls = std::min(met.invalid, known);
    numbers.flushed_calls = std::min(met.flushed, known);
    numbers.denormal_time_ns = met.denormal_ns;
  }
  if (routine.a >= 0 || routine.b >= 0) {
    numbers.sampled_operands = met.operands;
    numbers.nan_operands = std::min(met.nan_operands, met.operands);
    numbers.infinite_operands = std::min(met.infinite_operands, met.operands);
    numbers.denormal_operands = std::min(met.denormal_operands, met.operands);
  }
  return numbers;
}

}  // namespace

MetNumbers& MetNumbers::operator+=(const MetNumbers& other) {
  usual += other.usual;
  denormal += other.denormal;
  invalid += other.invalid;
  flushed += other.flushed;
  denormal_ns += other.denormal_ns;
  usual_log2 += other.usual_log2;
  denormal_log2 += other.denormal_log2;
  operands += other.operands;
  nan_operands += other.nan_operands;
  infinite_operands += other.infinite_operands;
  denormal_operands += other.denormal_operands;
  return *this;
}

std::optional<double> MetNumbers::slowdown() const {
  if (std::min(usual, denormal) < report::kEnoughCallsOfAKind) return std::nullopt;
  const double ratio = std::exp2(denormal_log2 / static_cast<double>(denormal) -
                                 usual_log2 / static_cast<double>(usual));
  return std::isfinite(ratio) ? std::optional(ratio) : std::nullopt;
}

std::uint64_t Scale::operator()(std::uint64_t samples) {
  seen_ += samples;
  // Each part gets what its end is beyond the end of the part before: roundings do not add up.
  const std::uint64_t end =
      seen_ >= samples_ ? all_ : static_cast<std::uint64_t>(static_cast<double>(seen_) * ratio_);
  return end - std::exchange(given_, end);
}

void ShapeCounts::keep(const Shape& shape, const CountedCalls& calls) {
  if (auto known = counts_.find(shape); known != counts_.end()) {
    known->second += calls;
  } else if (counts_.size() < kMostShapes) {
    counts_.emplace(shape, calls);
  } else {
    others_ += calls;
  }
}

void ShapeCounts::add(const Shape& shape, const CountedCalls& calls) {
  flops_ += flop_count(routine_, shape) * static_cast<double>(calls.count);
  keep(shape, calls);
}

void ShapeCounts::add_others(const CountedCalls& calls) {
  others_ += calls;
  if (calls.count > 0) all_known_ = false;
}

void ShapeCounts::merge(const ShapeCounts& other) {
  for (const auto& [shape, calls] : other.counts_) keep(shape, calls);
  others_ += other.others_;
  flops_ += other.flops_;
  all_known_ = all_known_ && other.all_known_;
}

void ShapeCounts::merge(const ShapeCounts& sample, Scale& scale) {
  for (const auto& [shape, calls] : sample.counts_) keep(shape, {.count = scale(calls.count)});
  others_ += CountedCalls{.count = scale(sample.others_.count)};
  flops_ += sample.flops_ * scale.ratio();
  all_known_ = all_known_ && sample.all_known_;
}

CountedCalls ShapeCounts::all() const {
  CountedCalls sum = others_;
  for (const auto& [shape, calls] : counts_) sum += calls;
  return sum;
}

void ShapeCounts::write(report::CallSite& site) const {
  const CountedCalls sum = all();
  site.count = sum.count;
  if (sum.timed == sum.count) site.time_ns = sum.time_ns;
  site.calls_of_other_shapes = others_.count;
  site.numbers = numbers_of(routine_, sum);
  std::vector<std::pair<double, report::CallShape>> shapes;
  double most_denormal_ns = 0;
  for (const auto& [shape, calls] : counts_) {
    const auto is = [form = shape.form](ShapeForm bit) { return (form & bit) != 0; };
    report::CallShape& out =
        shapes
            .emplace_back(flop_count(routine_, shape) * static_cast<double>(calls.count),
                          report::CallShape{.m = shape.m,
                                            .n = shape.n,
                                            .k = shape.k,
                                            .row_major = is(kRowMajor),
                                            .right = is(kRightSide),
                                            .transposed_a = is(kTransposedA),
                                            .transposed_b = is(kTransposedB),
                                            .count = calls.count,
                                            .time_ns = {},
                                            .numbers = {}})
            .second;
    if (calls.timed == calls.count) out.time_ns = calls.time_ns;
    out.numbers = numbers_of(routine_, calls);
    if (!calls.met) continue;
    out.numbers.denormal_slowdown = calls.met->slowdown();
    if (!out.numbers.denormal_slowdown || calls.met->denormal_ns <= most_denormal_ns) continue;
    most_denormal_ns = calls.met->denormal_ns;
    site.numbers.denormal_slowdown = out.numbers.denormal_slowdown;
  }
  std::stable_sort(shapes.begin(), shapes.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (auto& [flops, shape] : shapes) site.shapes.push_back(shape);
  if (all_known_ && routine_.work != Work::kUnknown) site.flops = flops_;
}

void most_flop_first(std::vector<report::CallSite>& sites) {
  std::stable_sort(
      sites.begin(), sites.end(), [](const report::CallSite& a, const report::CallSite& b) {
        return std::pair(a.flops.value_or(-1), a.count) > std::pair(b.flops.value_or(-1), b.count);
      });
}

}  // namespace hwprof::observe
