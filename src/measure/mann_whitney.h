// Is one sample larger than another, whatever their distribution? Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace hwprof {

// Two-sided p of the Mann-Whitney U test (Mann and Whitney 1947): the chance that two samples of
// one distribution differ in their ranks as much as `a` and `b` do. Ties share their mean rank.
// Exact by counting all ways to choose a's ranks where there are few values in all, else by the
// normal approximation with corrections for ties and continuity. Neither may be empty.
double mann_whitney_p(std::span<const double> a, std::span<const double> b);

// The least p that samples of these sizes can have.
double least_mann_whitney_p(std::size_t a, std::size_t b);

// Holm's correction (1979) for having asked many times: each p as it is to be held against the
// level of a single test. Absent ones stay absent and do not count.
std::vector<std::optional<double>> holm(const std::vector<std::optional<double>>& p);

}  // namespace hwprof
