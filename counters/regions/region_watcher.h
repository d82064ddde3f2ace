// Who wants to know of each entry to a region and each leave, at that place of the program, in its
// thread. Not in this library: where a program, or what it loads, defines hwprof_watch_regions_1(),
// each thread asks it once, at its first region. Edges take the long way then.
#pragma once

#include <cstdint>

namespace hwprof {

// The number in the function's name is raised when this changes: the two may be of two versions.
struct RegionWatcher {
  // Last of all, when the entry's clock and counters have been read.
  void (*entered)(const char* name, std::uint64_t ticket);
  // First of all, of the region that the program leaves; those entered since then end with it.
  void (*leaving)(std::uint64_t ticket);
  void (*declared)(double flops);
};

}  // namespace hwprof

// nullptr: nobody. NOLINTNEXTLINE(readability-identifier-naming): a name of C
extern "C" __attribute__((weak)) const hwprof::RegionWatcher* hwprof_watch_regions_1();
