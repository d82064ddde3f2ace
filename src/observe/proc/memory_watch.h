// Looks at the memory of a program's processes while they run: nothing is left of it at their end.
//
// The kernel walks through all pages of a process to say what they are, and the process may not map
// memory meanwhile. So looks become rarer, and each is followed by fifty times its own CPU time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "counters/machine/affinity.h"
#include "src/observe/proc/memory_areas.h"

namespace hwprof::observe {

class MemoryWatch {
 public:
  explicit MemoryWatch(pid_t root);
  void look();  // reads where it is time to
  model::LargeMemory finish();

 private:
  void look_at_memory(pid_t pid);
  void look_at_threads(const std::vector<pid_t>& tree);

  pid_t root_;
  double begin_ns_, next_ns_, next_threads_ns_;
  std::vector<pid_t> tree_;
  std::map<unsigned, CpuList> cpus_of_nodes_;  // below two nodes: empty
  std::string setting_;                        // of the kernel, for huge pages
  model::LargeMemory found_;
  std::uint64_t most_bytes_ = 0;                  // of the areas in `found_`
  std::map<unsigned, std::uint64_t> node_bytes_;  // of these
  std::map<unsigned, std::uint64_t> running_;     // threads seen, by node
};

}  // namespace hwprof::observe
