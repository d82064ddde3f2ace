#include "src/measure/outliers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/measure/statistics.h"

namespace hwprof {
namespace {

using report::Slice;

constexpr double kSteadyPeak = 0.03;

// The median of what was watched; 0 where nothing was, and then no slice has a value either.
template <class T>
double usual(const std::vector<Slice>& slices, std::optional<T> Slice::*member) {
  std::vector<double> values;
  for (const Slice& slice : slices)
    if (slice.*member) values.push_back(static_cast<double>(*(slice.*member)));
  return values.empty() ? 0 : median(std::move(values));
}

std::string cause_of(const Slice& slice, const std::vector<Slice>& slices) {
  std::vector<std::string> causes;
  if (slice.migrated.value_or(false)) causes.emplace_back("moved to another CPU");
  const auto more_than_usual = [&](std::optional<std::uint64_t> Slice::*member, const char* what) {
    const double others = usual(slices, member);
    if (!(slice.*member) || static_cast<double>(*(slice.*member)) <= others) return;
    causes.push_back(fmt::format("{} {} (usually {:.0f})", *(slice.*member), what, others));
  };
  more_than_usual(&Slice::involuntary_switches, "involuntary context switches");
  more_than_usual(&Slice::page_faults, "page faults");
  const double peak = usual(slices, &Slice::peak_gflops);
  if (slice.peak_gflops && *slice.peak_gflops < (1 - kSteadyPeak) * peak) {
    causes.push_back(fmt::format("another clock: FMA peak beside it {:.1f} % lower",
                                 100 * (1 - *slice.peak_gflops / peak)));
  }
  return causes.empty() ? "unknown" : fmt::format("{}", fmt::join(causes, ", "));
}

}  // namespace

std::vector<report::Outlier> find_outliers(const std::vector<Slice>& slices) {
  std::vector<report::Outlier> outliers;
  if (slices.size() < kMinSamplesForOutliers) return outliers;
  std::vector<double> times;
  for (const Slice& slice : slices) times.push_back(slice.ns);
  const double limit = upper_fence(times, 0, 0);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (slices[i].ns > limit) outliers.push_back({i, slices[i].ns, cause_of(slices[i], slices)});
  }
  return outliers;
}

}  // namespace hwprof
