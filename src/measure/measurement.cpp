#include "src/measure/measurement.h"

#include <algorithm>

namespace hwprof {

void Measurement::add_time(const Span& span, std::uint64_t count) {
  const double call_ns = span.work_ns / static_cast<double>(count);
  if (!span.waited) {
    min_ns = pieces.empty() ? call_ns : std::min(min_ns, call_ns);
    pieces.push_back(call_ns);
  }
  wall_ns += span.wall_ns;
  on_cpu_ns += span.on_cpu_ns;
  calls += count;
}

void Measurement::add_call(const Span& span) {
  add_time(span, 1);
  report::Slice& slice = slices.emplace_back();
  slice.ns = span.wall_ns;
  slice.work_ns = span.work_ns;
  slice.waited = span.waited;
}

void Measurement::add_peaks(std::size_t first, double flops, double peak_gflops) {
  for (std::size_t i = first; i < slices.size(); ++i) {
    report::Slice& slice = slices[i];
    slice.peak_gflops = peak_gflops;
    if (flops > 0) slice.peak_ratio = flops / slice.work_ns / peak_gflops;
  }
}

void Measurement::leave_out_disturbed() {
  report::LeftOut out;
  const auto is_disturbed = [](const report::Slice& slice) {
    return slice.waited || slice.stolen.value_or(false) || slice.migrated.value_or(false);
  };
  for (const report::Slice& slice : slices) {
    if (slice.waited) {
      ++out.waited;
    } else if (slice.stolen.value_or(false)) {
      ++out.stolen;
    } else {
      out.moved += slice.migrated.value_or(false) ? 1 : 0;
    }
  }
  if (out.total() == 0) return;
  disturbed = slices.size() - out.total() < kMinSamplesForInterval;
  if (disturbed) return;
  left_out.moved += out.moved;
  left_out.stolen += out.stolen;
  left_out.waited += out.waited;
  std::erase_if(slices, is_disturbed);
}

std::vector<double> Measurement::values(double report::Slice::*member) const {
  std::vector<double> all;
  all.reserve(slices.size());
  for (const report::Slice& slice : slices) all.push_back(slice.*member);
  return all;
}

std::vector<double> Measurement::peak_ratios() const {
  std::vector<double> all;
  for (const report::Slice& slice : slices)
    if (slice.peak_ratio) all.push_back(*slice.peak_ratio);
  return all;
}

}  // namespace hwprof
