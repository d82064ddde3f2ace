// What is said of where a program's memory lies: pages of which size, and NUMA nodes beside those
// of the threads.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "src/base/format.h"
#include "src/blas/judge/judge_run.h"

namespace hwprof::blas {
namespace {

using report::LargeMemory;
using report::MemoryNode;

constexpr double kNotableBytes = 64.0 * (1 << 20);  // of all areas
constexpr double kFewHuge = 0.1;
// Threads on one node and most memory on others; memory on one node and threads on several.
constexpr double kOnOneNode = 0.9, kMostElsewhere = 0.5, kManyElsewhere = 0.4;

// Of all areas, in bytes.
double sum_of(std::uint64_t report::MemoryArea::*part, const LargeMemory& memory) {
  double bytes = 0;
  for (const report::MemoryArea& area : memory.areas) bytes += static_cast<double>(area.*part);
  return bytes;
}

double run_share(const MemoryNode& node) { return node.run_share.value_or(0); }

}  // namespace

std::string huge_page_words(const LargeMemory& memory) {
  const double all = sum_of(&report::MemoryArea::resident_bytes, memory);
  const double huge = sum_of(&report::MemoryArea::huge_bytes, memory);
  if (all < kNotableBytes || huge >= kFewHuge * all) return "";
  const std::string what = fmt::format("{} in large areas lie in small pages (huge ones: {:.0f} %)",
                                       report::binary_bytes(all), 100 * huge / all);
  // glibc 2.35 and later asks for huge pages so (its manual, "Memory Allocation Tunables").
  constexpr const char* kAsks = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1";
  if (memory.huge_pages == "madvise") {
    return fmt::format(
        "{}, since programs have to ask for huge ones here (madvise): glibc 2.35 and later does so "
        "with {}",
        what, kAsks);
  }
  if (memory.huge_pages == "never") {
    return fmt::format(
        "{}, since the kernel gives no huge ones (never): as root, echo madvise > "
        "/sys/kernel/mm/transparent_hugepage/enabled, then {}",
        what, kAsks);
  }
  return "";  // it could have them, or has renounced them: nothing that a setting would change
}

std::string node_finding(const LargeMemory& memory) {
  double all = 0;
  for (const MemoryNode& node : memory.nodes) {
    if (!node.run_share) return "";
    all += static_cast<double>(node.bytes);
  }
  if (memory.nodes.size() < 2 || all < kNotableBytes) return "";
  const auto share = [&](const MemoryNode& node) { return static_cast<double>(node.bytes) / all; };
  const MemoryNode& busiest = *std::max_element(
      memory.nodes.begin(), memory.nodes.end(),
      [](const MemoryNode& a, const MemoryNode& b) { return run_share(a) < run_share(b); });
  const MemoryNode& fullest =
      *std::max_element(memory.nodes.begin(), memory.nodes.end(),
                        [](const MemoryNode& a, const MemoryNode& b) { return a.bytes < b.bytes; });
  if (run_share(busiest) >= kOnOneNode && 1 - share(busiest) >= kMostElsewhere) {
    return fmt::format(
        "{:.0f} % of the {} in large areas lie on other NUMA nodes than node {}, on which {:.0f} % "
        "of the running threads were: bind both to one node, numactl --cpunodebind={} --membind={} "
        "-- COMMAND.",
        100 * (1 - share(busiest)), report::binary_bytes(all), busiest.node,
        100 * run_share(busiest), busiest.node, busiest.node);
  }
  if (share(fullest) >= kOnOneNode && 1 - run_share(fullest) >= kManyElsewhere) {
    return fmt::format(
        "{:.0f} % of the {} in large areas lie on NUMA node {}, while {:.0f} % of the running "
        "threads were on others: let each thread write first what it computes with later, or "
        "spread the pages, numactl --interleave=all -- COMMAND.",
        100 * share(fullest), report::binary_bytes(all), fullest.node,
        100 * (1 - run_share(fullest)));
  }
  return "";
}

}  // namespace hwprof::blas
