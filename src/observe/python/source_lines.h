// Lines of source with a number each, of every language, so that a stack of them is a few words.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "src/model/stacks.h"

namespace hwprof::observe {

class SourceLines {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // kNone where there is no room for another one.
  std::uint32_t number(report::SourceLine line) {
    constexpr std::size_t kMost = 200'000;
    const auto known = numbers_.find(line);
    if (known != numbers_.end()) return known->second;
    if (lines_.size() >= kMost) return kNone;
    const auto number = static_cast<std::uint32_t>(lines_.size());
    lines_.push_back(&numbers_.emplace(std::move(line), number).first->first);
    return number;
  }
  [[nodiscard]] const report::SourceLine& line(std::uint32_t number) const {
    return *lines_.at(number);
  }

 private:
  std::map<report::SourceLine, std::uint32_t> numbers_;
  std::vector<const report::SourceLine*> lines_;
};

}  // namespace hwprof::observe
