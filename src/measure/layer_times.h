// Times each layer of a chain by reading the clock between them, over many runs of the chain, and
// beside each such run one without any clock in between: only so it can be said that the parts add
// up to the whole. Several chains take turns, and so do slices of the FMA peak (runner.h says why).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "kernels/thread_team.h"
#include "src/measure/runner.h"

namespace hwprof {

struct LayeredWork {
  std::vector<std::function<void()>> layers;
  std::vector<double> flops;  // of each layer, by the model
};

struct LayerTimesOptions {
  double budget_s = 4;  // for all chains together; least_repeats come first
  std::optional<std::uint64_t> repeat =
      {};  // exactly so many runs of each chain, whatever the time
  double target_half_width = 0.02;
  std::size_t least_repeats = kMinSamplesForInterval;
};

struct LayerTimes {
  std::vector<Measurement> layers;
  std::vector<double> whole_ns;  // of the runs without a clock in between
  std::vector<double> sum_ns;    // of the layers, of each of the other runs
};

struct LayerTimesResult {
  std::vector<LayerTimes> chains;
  double clock_ns = 0;  // of one reading of the clock, which is in every layer's time
  bool interrupted = false;
};

// `team` runs the peak only. `progress` gets a fraction in [0, 1].
LayerTimesResult time_layers(std::span<const LayeredWork> chains, ThreadTeam& team,
                             const LayerTimesOptions& options, const std::atomic<bool>& stop,
                             const std::function<void(double)>& progress);

}  // namespace hwprof
