// A running process, as a look at the node has it.
#pragma once

#include <sys/types.h>

#include "src/observe/monitor/process_files.h"
#include "src/observe/proc/processes.h"

namespace hwprof {

inline observe::SeenProcess seen(pid_t pid) {
  const auto info = process_info(pid);
  return {pid, info ? info->start_ticks : 0};
}

}  // namespace hwprof
