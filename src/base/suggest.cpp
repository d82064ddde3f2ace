#include "src/base/suggest.h"

#include <algorithm>

#include "src/base/text.h"

namespace hwprof {
namespace {

constexpr std::size_t kMaxSuggestions = 3;
// A word that contains what was typed ("misses" in "branch-misses") is a candidate however long it
// is, behind those that differ by a letter or two.
constexpr std::size_t kContainedRank = 2;
// What is longer is no mistyped name; and the distance of two long ones takes minutes.
constexpr std::size_t kLongestWord = 200;

}  // namespace

std::size_t edit_distance(std::string_view from, std::string_view to) {
  const std::string a = lower(from), b = lower(to);
  // Three rows of the optimal string alignment table: a swap looks two rows back.
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::vector<std::string> nearest(std::string_view word, std::span<const std::string_view> known) {
  const std::size_t limit = std::max<std::size_t>(1, word.size() / 3);
  if (word.size() > kLongestWord) return {};
  std::vector<std::pair<std::size_t, std::string_view>> candidates;
  for (std::string_view candidate : known) {
    // No fewer letters differ than one of them is longer.
    const bool too_long = candidate.size() > word.size() + limit;
    std::size_t rank = too_long ? limit + 1 : edit_distance(word, candidate);
    if (rank > limit) {
      if (word.size() < 3 || lower(candidate).find(lower(word)) == std::string::npos) continue;
      rank = std::max(limit, kContainedRank) + 1;
    }
    candidates.emplace_back(rank, candidate);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> result;
  for (const auto& [rank, candidate] : candidates) {
    if (result.size() == kMaxSuggestions) break;
    if (std::find(result.begin(), result.end(), candidate) == result.end())
      result.emplace_back(candidate);
  }
  return result;
}

std::vector<std::string> nearest(std::string_view word, std::span<const std::string> known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  return nearest(word, std::span<const std::string_view>(views));
}

std::string did_you_mean(const std::vector<std::string>& words) {
  if (words.empty()) return {};
  std::string text = "did you mean ";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text + "?";
}

}  // namespace hwprof
