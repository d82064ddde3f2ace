// Call paths summed over threads: what ended threads leave behind, and what a report is made from.
// Plain numbers, no atomics.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "counters/regions/region_clock.h"
#include "counters/regions/region_tree.h"

namespace hwprof {

struct RegionSum {
  std::string name, type, shape;
  std::size_t parent = 0;             // index in RegionSums; the root is its own
  std::vector<std::size_t> children;  // in the order of their first entry
  std::uint64_t threads = 0;          // that entered it
  std::uint64_t calls = 0, nested = 0, open = 0, unfinished = 0;
  std::uint64_t total_ns = 0, self_ns = 0;
  std::uint64_t counted_calls = 0, enabled_ns = 0, running_ns = 0;
  // Not yet in those; `counted`: of the total, of calls whose counters ran all the time.
  struct Ticks {
    std::uint64_t total = 0, self = 0, counted = 0;
  } ticks;
  double flops = 0, bytes = 0;                                             // without nested regions
  std::uint64_t allocated_total = 0, allocated_self = 0, memory_peak = 0;  // bytes
  std::vector<std::uint64_t> totals, selves;                               // an event each
};

// A tree in a list (paths may be thousands of regions deep): the root first, every parent before
// its children.
class RegionSums {
 public:
  RegionSums() : nodes_(1) {}

  // Adds the tree of one thread, which may go on at the same time. Entries of paths for which there
  // was no room are left out; gives how many.
  std::uint64_t merge(const RegionTree& tree);

  // Ticks become nanoseconds. What adds up in ticks does so in these.
  void convert_ticks(const TickLine& line);

  [[nodiscard]] const std::vector<RegionSum>& nodes() const { return nodes_; }

 private:
  struct Key {
    std::size_t parent;
    std::string name, type, shape;
    auto operator<=>(const Key&) const = default;  // NOLINT(modernize-use-nullptr)
  };
  std::size_t child(Key key);

  // Threads that come and go, each with names of its own, must not fill the memory. 30 MB.
  static constexpr std::size_t kMost = 65536, kNoRoom = ~std::size_t{0};
  std::vector<RegionSum> nodes_;
  std::map<Key, std::size_t> index_;
};

}  // namespace hwprof
