// Where the memory of a program's large arrays lies: in pages of which size, on which NUMA nodes,
// and where the threads ran meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/model/fields.h"

namespace hwprof::model {

// One mapping: arrays that lie beside each other may share it.
struct MemoryArea {
  std::string name;  // "[heap]"; empty: without a name
  std::uint64_t bytes = 0, resident_bytes = 0;
  std::uint64_t huge_bytes = 0;  // of those resident: in transparent huge pages
};

struct MemoryNode {
  std::uint64_t node = 0;
  std::uint64_t bytes = 0;          // of the areas
  std::optional<double> run_share;  // of the running threads that were seen; absent: too few were
};

// Of the process that held most, as it was when it held most.
struct LargeMemory {
  std::vector<MemoryArea> areas;  // most resident first
  // "always", "madvise", "never"; "process": that process has none; empty: not known.
  std::string huge_pages;
  std::vector<MemoryNode> nodes;  // empty: nodes_reason
  std::string nodes_reason;
  std::uint64_t looks = 0, running_seen = 0;
  std::string reason;  // why there is no area
};

template <>
const Record& record<MemoryArea>();
template <>
const Record& record<MemoryNode>();
template <>
const Record& record<LargeMemory>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::LargeMemory, model::MemoryArea, model::MemoryNode;
}  // namespace hwprof::report
