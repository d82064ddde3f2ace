// "Did you mean": the known words nearest to a misspelt one. Pure; for event names, options,
// commands and variants alike.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hwprof {

// Edits (insert, delete, replace, swap of neighbours) that make `from` into `to`, without regard
// to case.
std::size_t edit_distance(std::string_view from, std::string_view to);

// At most three, nearest first; empty when nothing is near enough to be worth saying.
std::vector<std::string> nearest(std::string_view word, std::span<const std::string_view> known);
std::vector<std::string> nearest(std::string_view word, std::span<const std::string> known);

// "did you mean branches or branch-misses?"; empty for no words.
std::string did_you_mean(const std::vector<std::string>& words);

}  // namespace hwprof
