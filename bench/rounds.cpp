#include "bench/rounds.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <utility>

#include "src/measure/statistics.h"

namespace hwprof::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSliceSeconds = 0.020, kPeakSliceSeconds = 0.010;

double ns_of(const std::function<void()>& call, std::size_t times) {
  const auto begin = Clock::now();
  for (std::size_t i = 0; i < times; ++i) call();
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

// In chunks of some 50 us, in which the clock's own 30 ns are invisible; their median is not hurt
// by an interrupt or a stolen time slice.
double slice(const std::function<void()>& call, double warm_ns, double seconds) {
  const auto calls = static_cast<std::size_t>(std::max(1.0, std::ceil(kShortestChunkNs / warm_ns)));
  std::vector<double> call_ns;
  double spent_ns = 0;
  do {
    const double chunk_ns = ns_of(call, calls);
    call_ns.push_back(chunk_ns / static_cast<double>(calls));
    spent_ns += chunk_ns;
  } while (spent_ns < seconds * 1e9);
  return median(std::move(call_ns));
}

}  // namespace

Contestant in_process(std::string name, std::function<void()> call) {
  call();
  const double warm_ns = std::max(1.0, ns_of(call, 1));
  return {std::move(name), [call = std::move(call), warm_ns](double seconds) -> Result<double> {
            return slice(call, warm_ns, seconds);
          }};
}

Rounds::Rounds(std::vector<Contestant> contestants, double flops, const FmaKernel& peak)
    : contestants_(std::move(contestants)),
      flops_(flops),
      peak_(peak),
      standings_(contestants_.size()),
      peak_step_ns_(peak.flops_per_step / fma_slice_gflops(peak, kPeakSliceSeconds)) {}

// In chunks as long as a call of ours. The median of short chunks passes over interrupts and time
// that the hypervisor took; a call of 10 ms cannot, and would look 1 % slower than it is.
double Rounds::measure_peak() {
  const double steps = std::max(1.0, chunk_ns_ / peak_step_ns_);
  std::vector<double> step_ns;
  double spent_ns = 0;
  do {
    const double ns = ns_of([&] { peak_.run(static_cast<std::uint64_t>(steps)); }, 1);
    step_ns.push_back(ns / std::floor(steps));
    spent_ns += ns;
  } while (spent_ns < kPeakSliceSeconds * 1e9);
  peak_step_ns_ = median(std::move(step_ns));
  peak_gflops_.push_back(peak_.flops_per_step / peak_step_ns_);
  return peak_gflops_.back();
}

void Rounds::note(std::size_t index, double call_ns, double peak) {
  standings_[index].gflops.push_back(flops_ / call_ns);
  standings_[index].peak_fraction.push_back(flops_ / call_ns / peak);
}

Result<void> Rounds::run_one() {
  double peak_before = measure_peak();
  Result<double> ours = contestants_.front().slice_ns(kSliceSeconds);
  if (!ours) return error_of(ours);
  double ours_before_ns = *ours;
  std::vector<double> ours_ns{*ours};
  std::vector<double> peaks{peak_before};
  for (std::size_t i = 1; i < contestants_.size(); ++i) {
    const Result<double> peer = contestants_[i].slice_ns(kSliceSeconds);
    if (!peer) return error_of(peer);
    ours = contestants_.front().slice_ns(kSliceSeconds);
    if (!ours) return error_of(ours);
    const double peak_after = measure_peak();
    note(i, *peer, (peak_before + peak_after) / 2);
    standings_[i].ours_over_it.push_back(*peer / ((ours_before_ns + *ours) / 2));
    ours_ns.push_back(*ours);
    peaks.push_back(peak_after);
    peak_before = peak_after;
    ours_before_ns = *ours;
  }
  peaks.push_back(measure_peak());
  const double ours_median_ns = median(std::move(ours_ns));
  chunk_ns_ = std::clamp(ours_median_ns, kShortestChunkNs, kSliceSeconds * 1e9);
  note(0, ours_median_ns, median(std::move(peaks)));
  return {};
}

}  // namespace hwprof::bench
