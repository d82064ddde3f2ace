// Is a program faster with another setting? Both were run in pairs, in shuffled order, so that what
// the machine did meanwhile met both; the question is asked of the logarithms of the pairs' ratios,
// whose distribution is not known: Wilcoxon's signed-rank test (1945), its interval by the Walsh
// averages and their median as estimate (Hodges and Lehmann 1963). Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace hwprof {

struct PairedRatio {
  double low = 0, estimate = 1, high = 0;  // below 1: `changed` takes less
};

// Of how many of the smallest (or largest) Walsh averages of `pairs` the interval leaves out all:
// the largest k of which P(W < k) <= `tail`, W being the signed-rank sum without a difference,
// exactly. 0: so few pairs decide nothing at that level.
std::size_t signed_rank_cut(std::size_t pairs, double tail);

// Of `changed` over `as_is`, pair by pair, with an error of `level` on both sides together. Absent
// where the pairs are too few for it, or a time is not above 0.
std::optional<PairedRatio> paired_ratio(std::span<const double> as_is,
                                        std::span<const double> changed, double level);

// When to stop, fixed before anything is measured. Who looks after each round, and stops once the
// interval leaves 1 out, finds something in most programs: so it is looked three times, and each
// look has a third of the error. A budget ends the rounds whatever they say; before the first look
// its end is the only one, and has the whole.
inline constexpr std::size_t kLooks[] = {9, 20, 40};
inline constexpr std::size_t kFewestRounds = 6;  // below, 95 % leaves no interval
inline constexpr double kErrorOfAll = 0.05;

// Of the interval of one of `settings` that are tried beside each other (Bonferroni).
double level_after(std::size_t rounds, std::size_t settings);
bool is_look(std::size_t rounds);
inline bool leaves_out_one(const std::optional<PairedRatio>& ratio) {
  return ratio && (ratio->low > 1 || ratio->high < 1);
}

// What may be said of it: a factor only where the whole interval lies beyond 1.05.
enum class Said { kNothing, kFaster, kSlower };
Said what_to_say(const std::optional<PairedRatio>& ratio);

}  // namespace hwprof
