#include "src/measure/layer_times.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "src/measure/statistics.h"

namespace hwprof {
namespace {

using Clock = std::chrono::steady_clock;

double ns_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::nano>(end - begin).count();
}

double clock_reading_ns() {
  constexpr int kReadings = 1000;
  const auto begin = Clock::now();
  for (int i = 0; i < kReadings; ++i) (void)Clock::now();
  return ns_between(begin, Clock::now()) / kReadings;
}

class LayerRun {
 public:
  LayerRun(std::span<const LayeredWork> chains, ThreadTeam& team, const LayerTimesOptions& options)
      : chains_(chains), team_(team), options_(options), states_(chains.size()) {
    for (const LayeredWork& chain : chains) {
      result_.chains.emplace_back().layers.resize(chain.layers.size());
    }
  }

  LayerTimesResult run(const std::atomic<bool>& stop, const std::function<void(double)>& progress) {
    result_.clock_ns = clock_reading_ns();
    for (std::size_t i = 0; i < chains_.size(); ++i) {
      states_[i].boundaries.resize(chains_[i].layers.size() + 1);
    }
    while (!stop.load(std::memory_order_relaxed)) {
      const std::size_t next = pick();
      if (next == chains_.size()) break;
      measure_peak();
      run_slice(next);
      progress(fraction_done());
    }
    result_.interrupted = stop.load(std::memory_order_relaxed);
    return std::move(result_);
  }

 private:
  struct State {
    std::vector<Clock::time_point> boundaries;
    double spent_ns = 0;
    std::size_t next_look = 0;  // at convergence: each costs a sort of all samples
    bool converged = false;
  };

  [[nodiscard]] std::size_t repeats(std::size_t i) const {
    return result_.chains[i].whole_ns.size();
  }

  // Least time spent first, as in runner.h.
  std::size_t pick() {
    const bool over = ns_between(begin_, Clock::now()) > options_.budget_s * 1e9;
    std::size_t best = chains_.size();
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < chains_.size(); ++i) {
      const bool wanted = options_.repeat
                              ? repeats(i) < *options_.repeat
                              : repeats(i) < options_.least_repeats || (!over && !converged(i));
      if (wanted && states_[i].spent_ns < least) {
        best = i;
        least = states_[i].spent_ns;
      }
    }
    return best;
  }

  bool converged(std::size_t i) {
    State& state = states_[i];
    if (state.converged || repeats(i) < state.next_look) return state.converged;
    state.next_look = repeats(i) * 2;
    const LayerTimes& times = result_.chains[i];
    const auto narrow = [this](const std::vector<double>& samples) {
      return relative_half_width(ordered_median(samples), median(samples)) <=
             options_.target_half_width;
    };
    state.converged = narrow(times.whole_ns) &&
                      std::all_of(times.layers.begin(), times.layers.end(),
                                  [&](const auto& layer) { return narrow(layer.call_ns); });
    return state.converged;
  }

  void measure_peak() {
    constexpr double kPeakSliceSeconds = 0.002;
    peak_gflops_ = team_peak_gflops(team_, fastest_fma_kernel(), kPeakSliceSeconds);
  }

  // Runs with and without a clock take turns until the slice is over. The first run of a slice is
  // not counted: the peak's slice before it left the caches as it likes.
  void run_slice(std::size_t i) {
    constexpr double kSliceNs = 20e6;
    State& state = states_[i];
    const auto begin = Clock::now();
    run_whole(i);
    if (repeats(i) == 0) run_whole(i);
    do {
      run_by_layer(i);
      const auto before = Clock::now();
      run_whole(i);
      result_.chains[i].whole_ns.push_back(ns_between(before, Clock::now()));
    } while (ns_between(begin, Clock::now()) < kSliceNs &&
             (!options_.repeat || repeats(i) < *options_.repeat));
    state.spent_ns += ns_between(begin, Clock::now());
  }

  void run_whole(std::size_t i) {
    for (const auto& layer : chains_[i].layers) layer();
  }

  void run_by_layer(std::size_t i) {
    const LayeredWork& chain = chains_[i];
    std::vector<Clock::time_point>& at = states_[i].boundaries;
    at[0] = Clock::now();
    for (std::size_t l = 0; l < chain.layers.size(); ++l) {
      chain.layers[l]();
      at[l + 1] = Clock::now();
    }
    result_.chains[i].sum_ns.push_back(ns_between(at.front(), at.back()));
    for (std::size_t l = 0; l < chain.layers.size(); ++l) {
      Measurement& layer = result_.chains[i].layers[l];
      const double ns = ns_between(at[l], at[l + 1]);
      layer.min_ns = layer.calls == 0 ? ns : std::min(layer.min_ns, ns);
      layer.total_ns += ns;
      ++layer.calls;
      layer.call_ns.push_back(ns);
      if (chain.flops[l] > 0) layer.peak_ratio.push_back(chain.flops[l] / ns / peak_gflops_);
    }
  }

  double fraction_done() {
    double least = 1;
    for (std::size_t i = 0; i < chains_.size(); ++i) {
      const auto wanted = static_cast<double>(options_.repeat.value_or(options_.least_repeats));
      if (!states_[i].converged) {
        least = std::min(least, static_cast<double>(repeats(i)) / wanted);
      }
    }
    if (options_.repeat) return least;
    return std::min({1.0, least, ns_between(begin_, Clock::now()) / (options_.budget_s * 1e9)});
  }

  std::span<const LayeredWork> chains_;
  ThreadTeam& team_;
  const LayerTimesOptions& options_;
  std::vector<State> states_;
  LayerTimesResult result_;
  double peak_gflops_ = 0;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

LayerTimesResult time_layers(std::span<const LayeredWork> chains, ThreadTeam& team,
                             const LayerTimesOptions& options, const std::atomic<bool>& stop,
                             const std::function<void(double)>& progress) {
  return LayerRun(chains, team, options).run(stop, progress);
}

}  // namespace hwprof
