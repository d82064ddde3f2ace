// How long at least one of many calls lasted. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>

namespace hwprof::observe {

// Of intervals that come in the order of their ends.
class UnionOfTimes {
 public:
  void add(std::uint64_t begin, std::uint64_t end);
  [[nodiscard]] double sum() const;

 private:
  std::deque<std::pair<std::uint64_t, std::uint64_t>> parts_;  // apart from each other
  double before_ = 0;                                          // of parts too old to be kept
};

}  // namespace hwprof::observe
