#include "src/measure/mann_whitney.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hwprof {
namespace {

// Counting grows with the fourth power of the values: 40 take a few milliseconds.
constexpr std::size_t kMostExact = 40;

// Of both samples in one order, a's first: twice the rank of each value, which is whole even where
// two values tie; and the sum of t^3 - t over groups of t equal values.
struct Ranks {
  std::vector<std::size_t> twice;
  double ties = 0;
};

Ranks rank(std::span<const double> a, std::span<const double> b) {
  std::vector<double> values(a.begin(), a.end());
  values.insert(values.end(), b.begin(), b.end());
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&values](std::size_t i, std::size_t j) { return values[i] < values[j]; });
  Ranks ranks{std::vector<std::size_t>(values.size()), 0};
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (std::size_t i = first; i < end; ++i) ranks.twice[order[i]] = first + 1 + end;
    const auto tied = static_cast<double>(end - first);
    ranks.ties += tied * tied * tied - tied;
    first = end;
  }
  return ranks;
}

// Share of all choices of `chosen` of the ranks whose sum is as far from its mean as `sum`.
double exact_p(const std::vector<std::size_t>& twice, std::size_t chosen, std::size_t sum) {
  const std::size_t all = std::accumulate(twice.begin(), twice.end(), std::size_t{0});
  // ways[n][s]: choices of n of the ranks so far that add up to s.
  std::vector<std::vector<double>> ways(chosen + 1, std::vector<double>(all + 1, 0.0));
  ways[0][0] = 1;
  for (const std::size_t rank : twice) {
    for (std::size_t n = chosen; n > 0; --n) {
      for (std::size_t s = all; s >= rank; --s) ways[n][s] += ways[n - 1][s - rank];
    }
  }
  const double mean = static_cast<double>(all * chosen) / static_cast<double>(twice.size());
  const double distance = std::abs(static_cast<double>(sum) - mean);
  double as_far = 0, total = 0;
  for (std::size_t s = 0; s <= all; ++s) {
    total += ways[chosen][s];
    // Half a step of slack: sums are whole, the mean may not be.
    if (std::abs(static_cast<double>(s) - mean) > distance - 0.25) as_far += ways[chosen][s];
  }
  return as_far / total;
}

double normal_p(const Ranks& ranks, std::size_t in_a, std::size_t twice_sum) {
  const auto n = static_cast<double>(ranks.twice.size());
  const auto a = static_cast<double>(in_a), b = n - a;
  const double variance = a * b / 12 * (n + 1 - ranks.ties / (n * (n - 1)));
  if (variance <= 0) return 1;  // all values are equal
  const double distance = std::abs(static_cast<double>(twice_sum) / 2 - a * (n + 1) / 2);
  const double z = std::max(0.0, distance - 0.5) / std::sqrt(variance);
  return std::erfc(z / std::sqrt(2.0));
}

}  // namespace

double mann_whitney_p(std::span<const double> a, std::span<const double> b) {
  const Ranks ranks = rank(a, b);
  const auto a_end = ranks.twice.begin() + static_cast<std::ptrdiff_t>(a.size());
  const std::size_t sum = std::accumulate(ranks.twice.begin(), a_end, std::size_t{0});
  return ranks.twice.size() <= kMostExact ? exact_p(ranks.twice, a.size(), sum)
                                          : normal_p(ranks, a.size(), sum);
}

double least_mann_whitney_p(std::size_t a, std::size_t b) {
  // Two of all choices are extreme: a's values all below b's, or all above.
  double choices = 1;
  for (std::size_t i = 1; i <= a; ++i)
    choices *= static_cast<double>(b + i) / static_cast<double>(i);
  return std::min(1.0, 2 / choices);
}

std::vector<std::optional<double>> holm(const std::vector<std::optional<double>>& p) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (p[i]) order.push_back(i);
  std::sort(order.begin(), order.end(),
            [&p](std::size_t i, std::size_t j) { return *p[i] < *p[j]; });
  std::vector<std::optional<double>> corrected(p.size());
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto left = static_cast<double>(order.size() - i);
    largest = std::max(largest, std::min(1.0, left * *p[order[i]]));
    corrected[order[i]] = largest;
  }
  return corrected;
}

}  // namespace hwprof
