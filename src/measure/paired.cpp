#include "src/measure/paired.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "src/measure/statistics.h"

namespace hwprof {
namespace {

constexpr double kLeastFactor = 1.05;

// By rank sum: how many of the 2^pairs assignments of signs give it. Exact in a double up to 53.
std::vector<double> rank_sum_counts(std::size_t pairs) {
  std::vector<double> counts{1};
  for (std::size_t rank = 1; rank <= pairs; ++rank) {
    std::vector<double> more(counts.size() + rank);
    for (std::size_t sum = 0; sum < counts.size(); ++sum) {
      more[sum] += counts[sum];
      more[sum + rank] += counts[sum];
    }
    counts = std::move(more);
  }
  return counts;
}

}  // namespace

std::size_t signed_rank_cut(std::size_t pairs, double tail) {
  const std::vector<double> counts = rank_sum_counts(pairs);
  const double allowed = tail * std::ldexp(1.0, static_cast<int>(pairs));
  double below = 0;
  std::size_t cut = 0;
  while (cut < counts.size() && below + counts[cut] <= allowed) below += counts[cut++];
  return cut;
}

std::optional<PairedRatio> paired_ratio(std::span<const double> as_is,
                                        std::span<const double> changed, double level) {
  const std::size_t pairs = std::min(as_is.size(), changed.size());
  const std::size_t cut = signed_rank_cut(pairs, level / 2);
  std::vector<double> logs;
  for (std::size_t i = 0; i < pairs; ++i) {
    if (!(as_is[i] > 0 && changed[i] > 0)) return std::nullopt;
    logs.push_back(std::log(changed[i] / as_is[i]));
  }
  std::vector<double> walsh;
  for (std::size_t i = 0; i < pairs; ++i)
    for (std::size_t j = i; j < pairs; ++j) walsh.push_back((logs[i] + logs[j]) / 2);
  if (cut == 0 || walsh.size() < 2 * cut) return std::nullopt;
  std::sort(walsh.begin(), walsh.end());
  return PairedRatio{.low = std::exp(walsh[cut - 1]),
                     .estimate = std::exp(median(walsh)),
                     .high = std::exp(walsh[walsh.size() - cut])};
}

double level_after(std::size_t rounds, std::size_t settings) {
  const double looks = rounds < kLooks[0] ? 1 : static_cast<double>(std::size(kLooks));
  return kErrorOfAll / looks / static_cast<double>(std::max<std::size_t>(settings, 1));
}

bool is_look(std::size_t rounds) {
  return std::find(std::begin(kLooks), std::end(kLooks), rounds) != std::end(kLooks);
}

Said what_to_say(const std::optional<PairedRatio>& ratio) {
  if (!ratio) return Said::kNothing;
  if (ratio->high < 1 / kLeastFactor) return Said::kFaster;
  return ratio->low > kLeastFactor ? Said::kSlower : Said::kNothing;
}

}  // namespace hwprof
