// Memory of observed processes, as it is by now. The descriptors of the last few are kept: asking
// for one takes longer than reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "src/base/unique_fd.h"

namespace hwprof::observe {

class ProcessMemory {
 public:
  // All of `to`, or false.
  bool read(int pid, std::uint64_t address, std::span<std::byte> to);
  // It executes another program, or has ended.
  void forget(int pid) { files_.erase(pid); }

 private:
  std::map<int, UniqueFd> files_;  // invalid: it does not let us
};

}  // namespace hwprof::observe
