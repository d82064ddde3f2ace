#include "src/observe/calls/union_of_times.h"

#include <algorithm>

namespace hwprof::observe {
namespace {

constexpr std::size_t kMostIntervals = 4096;

}  // namespace

void UnionOfTimes::add(std::uint64_t begin, std::uint64_t end) {
  while (!parts_.empty() && parts_.back().second >= begin) {
    begin = std::min(begin, parts_.back().first);
    end = std::max(end, parts_.back().second);
    parts_.pop_back();
  }
  parts_.emplace_back(begin, end);
  if (parts_.size() <= kMostIntervals) return;
  before_ += static_cast<double>(parts_.front().second - parts_.front().first);
  parts_.pop_front();
}

double UnionOfTimes::sum() const {
  double sum = before_;
  for (const auto& [begin, end] : parts_) sum += static_cast<double>(end - begin);
  return sum;
}

}  // namespace hwprof::observe
