// The function that each thread of a process was started with, by which OpenBLAS's, libgomp's and
// Python's threads are told apart: read from outside, without a probe, out of glibc's own list of
// threads, whose layout it describes for debuggers (nptl_db: the _thread_db_* symbols). glibc from
// 2.34 on; another C library, or a static program: nothing is known.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/observe/proc/read_memory.h"

namespace hwprof::observe {

// Offsets as the C library gives them.
struct ThreadLayout {
  std::uint64_t start_routine = 0, tid = 0, list = 0;  // in a thread's descriptor
  std::uint64_t list_head = 0;                         // in the process
};

// By thread. Pure: the list may change while it is walked, and holds what the program put there.
std::map<pid_t, std::uint64_t> start_routines(const ThreadLayout& layout, const ReadMemory& read);

class StartRoutines {
 public:
  // Of all threads of the process that have one.
  std::map<pid_t, std::uint64_t> of(pid_t pid);

 private:
  struct Files {
    std::string c_library, loader;
    std::uint64_t loader_begins = 0;
  };
  static std::optional<ThreadLayout> layout_of(const Files& files);

  std::map<std::string, std::optional<ThreadLayout>> layouts_;  // by C library and loader
};

}  // namespace hwprof::observe
