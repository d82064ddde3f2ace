#include "src/observe/calls/shape_counts.h"

#include <algorithm>
#include <utility>

#include "src/observe/routines/flop_count.h"

namespace hwprof::observe {

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
  std::vector<std::pair<double, report::CallShape>> shapes;
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
                                            .time_ns = {}})
            .second;
    if (calls.timed == calls.count) out.time_ns = calls.time_ns;
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
