#include "src/commands/profile_overhead.h"

#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>

#include "counters/regions/region_runtime.h"
#include "src/base/text.h"
#include "src/measure/statistics.h"
#include "src/observe/proc/maps.h"
#include "src/observe/samples/sampling.h"

namespace hwprof {
namespace {

constexpr int kRounds = 15;
constexpr double kTurnSeconds = 0.010;
constexpr std::size_t kModes = 4;  // none, counting, sampling, tracing
constexpr const char* kModeNames[kModes] = {"none", "counting", "sampling", "tracing"};
enum Mode : std::size_t { kNone, kCounting, kSampling, kTracing };

// Rings of samples, mapped into this process.
std::uint64_t mapped_ring_bytes() {
  std::uint64_t bytes = 0;
  for (const auto& line : observe::parse_maps(read_text_file("/proc/self/maps").value_or(""))) {
    if (line.path.ends_with("[perf_event]")) bytes += line.end - line.start;
  }
  return bytes;
}

double seconds_of(const std::function<void()>& work, int passes) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < passes; ++i) work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

std::vector<report::OverheadRow> measure_overhead(const RegionPasses& work,
                                                  const std::atomic<bool>& stop) {
  RegionRuntime& runtime = RegionRuntime::instance();
  std::vector<report::OverheadRow> rows(kModes);
  std::vector<double> pass_ns[kModes], ratios[kModes];
  int passes = 1;
  while (seconds_of(work.plain, passes) < kTurnSeconds) passes *= 2;

  // Seconds of a turn; sampling begins and ends outside of them.
  const auto turn = [&](Mode mode) -> std::optional<double> {
    runtime.pause_trace(mode != kTracing);
    if (mode != kSampling) return seconds_of(mode == kNone ? work.plain : work.pass, passes);
    auto sampling = observe::Sampling::open(::getpid(), false, {});
    if (!sampling) {
      rows[kSampling].reason = sampling.error().what;
      return std::nullopt;
    }
    rows[kSampling].memory_bytes = mapped_ring_bytes();
    const double seconds = seconds_of(work.plain, passes);
    sampling->drain();
    return seconds;
  };
  for (int round = 0; round < kRounds && !stop; ++round) {
    std::optional<double> seconds[kModes];
    for (std::size_t i = 0; i < kModes; ++i) {
      // Nobody is always first, nor always behind the same one.
      const auto mode = static_cast<Mode>((i + static_cast<std::size_t>(round)) % kModes);
      seconds[mode] = turn(mode);
    }
    for (std::size_t mode = 0; mode < kModes; ++mode) {
      if (!seconds[mode]) continue;
      pass_ns[mode].push_back(*seconds[mode] / passes * 1e9);
      ratios[mode].push_back(*seconds[mode] / *seconds[kNone]);
    }
  }
  runtime.pause_trace(false);

  const RegionRuntime::Bytes bytes = runtime.bytes_of_caller();
  rows[kNone].memory_bytes = 0;
  rows[kCounting].memory_bytes = bytes.regions;
  rows[kTracing].memory_bytes = bytes.regions + bytes.trace;
  for (std::size_t mode = 0; mode < kModes; ++mode) {
    report::OverheadRow& row = rows[mode];
    row.mode = kModeNames[mode];
    if (pass_ns[mode].empty()) {
      if (row.reason.empty()) row.reason = "interrupted";
      continue;
    }
    row.pass_ns = median(pass_ns[mode]);
    row.ratio = median(ratios[mode]);
    if (mode == kNone) continue;  // 1 by definition
    const Interval interval = bootstrap_median(ratios[mode]);
    row.ratio_low = interval.low;
    row.ratio_high = interval.high;
  }
  return rows;
}

}  // namespace hwprof
