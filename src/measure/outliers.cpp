#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "src/measure/repeats.h"
#include "src/measure/statistics.h"

namespace hwprof {
namespace {

using report::Slice;

constexpr double kLeastExplained = 0.5;  // of the excess
constexpr double kSteadyPeak = 0.03;

// The 98th percentile of (largest - median) / deviation in rows of log-normal noise of 8 %, by
// simulation (outliers_test.cpp repeats it).
double fence_sigmas(std::size_t samples) {
  constexpr std::pair<std::size_t, double> kUpTo[] = {
      {6, 10.3}, {8, 7.8}, {10, 6.0}, {14, 5.6}, {19, 5.2}, {29, 4.8}, {300, 4.6}, {1000, 5.1}};
  for (const auto& [most, sigmas] : kUpTo)
    if (samples <= most) return sigmas;
  return 5.6;
}

// The median of what was watched; 0 where nothing was, and then no slice has a value either.
template <class T>
double usual(const std::vector<Slice>& slices, std::optional<T> Slice::*member) {
  std::vector<double> values;
  for (const Slice& slice : slices)
    if (slice.*member) values.push_back(static_cast<double>(*(slice.*member)));
  return values.empty() ? 0 : median(std::move(values));
}

// What was unusual in a slice, and how much of a call's time it explains; absent: nobody can tell.
struct Suspect {
  std::string what;
  std::optional<double> explained_ns;
};

class Suspects {
 public:
  Suspects(const std::vector<Slice>& slices, std::size_t index, double usual_ns)
      : slices_(slices), index_(index), usual_ns_(usual_ns) {}

  std::vector<Suspect> all() {
    if (slice().migrated.value_or(false)) {
      add("moved to another CPU",
          [](const Slice& other) { return other.migrated.value_or(false); });
    }
    add_count(&Slice::involuntary_switches, "involuntary context switches");
    add_count(&Slice::page_faults, "page faults");
    add_clock();
    return std::move(found_);
  }

 private:
  [[nodiscard]] const Slice& slice() const { return slices_[index_]; }

  // By what the other slices lost in which as much happened.
  void add(std::string what, const std::function<bool(const Slice&)>& as_much) {
    std::vector<double> times;
    for (std::size_t i = 0; i < slices_.size(); ++i)
      if (i != index_ && as_much(slices_[i])) times.push_back(slices_[i].ns);
    Suspect& suspect = found_.emplace_back();
    suspect.what = std::move(what);
    if (!times.empty()) suspect.explained_ns = median(std::move(times)) - usual_ns_;
  }

  void add_count(std::optional<std::uint64_t> Slice::*member, const char* what) {
    const double others = usual(slices_, member);
    const std::uint64_t here = (slice().*member).value_or(0);
    if (static_cast<double>(here) <= others) return;
    add(fmt::format("{} {} (usually {:.0f})", here, what, others),
        [member, here](const Slice& other) { return (other.*member).value_or(0) >= here; });
  }

  void add_clock() {
    const double peak = usual(slices_, &Slice::peak_gflops);
    if (!slice().peak_gflops || *slice().peak_gflops >= (1 - kSteadyPeak) * peak) return;
    Suspect& suspect = found_.emplace_back();
    suspect.what = fmt::format("another clock: FMA peak beside it {:.1f} % lower",
                               100 * (1 - *slice().peak_gflops / peak));
    suspect.explained_ns = usual_ns_ * (peak / *slice().peak_gflops - 1);
  }

  const std::vector<Slice>& slices_;
  std::size_t index_;
  double usual_ns_;
  std::vector<Suspect> found_;
};

std::string cause_of(const std::vector<Slice>& slices, std::size_t index, double usual_ns) {
  const double excess_ns = slices[index].ns - usual_ns;
  std::vector<std::string> causes, beside;
  for (const Suspect& suspect : Suspects(slices, index, usual_ns).all()) {
    if (suspect.explained_ns.value_or(0) >= kLeastExplained * excess_ns) {
      causes.push_back(suspect.what);
    } else {
      beside.push_back(suspect.explained_ns
                           ? fmt::format("{}, which explains {:.0f} % of it", suspect.what,
                                         100 * std::max(0.0, *suspect.explained_ns / excess_ns))
                           : suspect.what);
    }
  }
  if (!causes.empty()) return fmt::format("{}", fmt::join(causes, ", "));
  return beside.empty() ? "not known"
                        : fmt::format("not known; beside it: {}", fmt::join(beside, ", "));
}

}  // namespace

double outlier_fence(std::span<const double> times) {
  const double middle = median({times.begin(), times.end()});
  // The fence of three deviations, as many times as far.
  constexpr double kSigmas = 3;
  const double three = upper_fence(times, 0, 0) - middle;
  return middle + three / kSigmas * fence_sigmas(times.size());
}

std::vector<report::Outlier> find_outliers(const std::vector<Slice>& slices) {
  std::vector<report::Outlier> outliers;
  if (slices.size() < kMinSamplesForOutliers) return outliers;
  std::vector<double> times;
  for (const Slice& slice : slices) times.push_back(slice.ns);
  const double limit = outlier_fence(times), usual_ns = median(times);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (slices[i].ns > limit) {
      outliers.push_back({i, slices[i].ns, cause_of(slices, i, usual_ns)});
    }
  }
  return outliers;
}

}  // namespace hwprof
