// Several ways to do the same work, measured in rounds of short slices that take turns:
//
//   peak, ours, peer A, ours, peak, peer B, ours, peak, ...
//
// A core's clock drifts by 10 % within a minute on shared machines, so a quotient of two numbers
// taken at different times says little. Here a peer is compared with the two slices of ours next to
// it, and each slice with the FMA peaks around it. The median over rounds repeats within 1 %.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/measure/peak.h"

namespace hwprof::bench {

struct Contestant {
  std::string name;
  // Works for about so many seconds, at least one call; nanoseconds a call. Fails where the work is
  // done by another process that has gone.
  std::function<Result<double>(double seconds)> slice_ns;
};

// Work of this process. The call is made twice here: the first faults pages in.
Contestant in_process(std::string name, std::function<void()> call);

// One value a round each.
struct Standing {
  std::vector<double> gflops;
  std::vector<double> peak_fraction;
  std::vector<double> ours_over_it;  // rate of the first contestant over its own; empty for itself
};

inline constexpr double kShortestChunkNs = 50e3;

class Rounds {
 public:
  // `contestants`: ours first. `flops`: of one call, by the model.
  Rounds(std::vector<Contestant> contestants, double flops, const FmaKernel& peak);

  Result<void> run_one();

  [[nodiscard]] const std::vector<Contestant>& contestants() const { return contestants_; }
  [[nodiscard]] const std::vector<Standing>& standings() const { return standings_; }
  [[nodiscard]] const std::vector<double>& peak_gflops() const { return peak_gflops_; }

 private:
  double measure_peak();
  void note(std::size_t index, double call_ns, double peak);

  std::vector<Contestant> contestants_;
  double flops_;
  const FmaKernel& peak_;
  std::vector<Standing> standings_;
  std::vector<double> peak_gflops_;
  double peak_step_ns_;                 // of the last peak
  double chunk_ns_ = kShortestChunkNs;  // of the next
};

}  // namespace hwprof::bench
