// The large private mappings of a process, by the texts that the kernel has of them. Pure: what it
// reads was made by a process that may be another user's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/memory_record.h"

namespace hwprof::observe {

// A smaller one is no large array.
inline constexpr std::uint64_t kLargeAreaBytes = std::uint64_t{16} << 20U;

struct MappedArea {
  std::uint64_t start = 0;
  model::MemoryArea area;
};

// Of /proc/PID/smaps (proc_pid_smaps(5)): private memory without a file of which at least so much
// is resident.
std::vector<MappedArea> parse_smaps(std::string_view smaps,
                                    std::uint64_t at_least = kLargeAreaBytes);

// Of /proc/PID/numa_maps (numa(7)): bytes by node of the areas. It counts pages of
// `kernelpagesize`, huge ones of transparent huge pages among them as so many small ones.
std::map<unsigned, std::uint64_t> parse_numa_maps(std::string_view numa_maps,
                                                  const std::vector<MappedArea>& areas);

// "always [madvise] never": the one that is set; empty where none is.
std::string chosen_setting(std::string_view text);

// Of /proc/PID/task/TID/stat: the CPU of a thread that runs, or is ready to.
std::optional<unsigned> running_cpu(std::string_view stat);

// A running thread that was seen on each node, and what of the areas lies there. The shares are
// absent below kEnoughRunning.
inline constexpr std::uint64_t kEnoughRunning = 20;
std::vector<model::MemoryNode> memory_nodes(const std::map<unsigned, std::uint64_t>& bytes,
                                            const std::map<unsigned, std::uint64_t>& running);

}  // namespace hwprof::observe
