#include "src/blas/ladder/blocks.h"

#include <algorithm>
#include <functional>

#include "src/measure/statistics.h"

namespace hwprof::blas {
namespace {

void set_middle(const std::vector<double>& fractions, std::optional<double>& middle,
                std::optional<double>& low, std::optional<double>& high) {
  middle = median(fractions);
  if (fractions.size() < kFewestBlocks) return;
  const Interval interval = mean_log_interval(fractions);
  low = std::min(*middle, interval.low);
  high = std::max(*middle, interval.high);
}

}  // namespace

void summarise(std::vector<Block> blocks, double highest_peak, report::LadderRung& rung) {
  const auto alone = [&](const Block& block) {
    return block.peak_gflops >= kUndisturbedPeak * highest_peak;
  };
  if (std::any_of(blocks.begin(), blocks.end(), alone)) std::erase_if(blocks, std::not_fn(alone));
  std::vector<double> products, calls;
  for (const Block& block : blocks) {
    if (block.fraction) products.push_back(*block.fraction);
    if (block.calls_fraction) calls.push_back(*block.calls_fraction);
  }
  if (!products.empty()) {
    set_middle(products, rung.peak_fraction, rung.peak_fraction_low, rung.peak_fraction_high);
  }
  if (calls.size() < blocks.size()) return;
  set_middle(calls, rung.calls_fraction, rung.calls_fraction_low, rung.calls_fraction_high);
}

}  // namespace hwprof::blas
