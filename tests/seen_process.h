// A running process, as a look at the node has it.
#pragma once

#include <sys/types.h>

#include <string>

#include "src/base/account.h"
#include "src/base/text.h"
#include "src/observe/monitor/process_files.h"
#include "src/observe/proc/processes.h"

namespace hwprof {

inline observe::SeenProcess seen(pid_t pid) {
  const auto info = process_info(pid);
  const auto status = read_text_file("/proc/" + std::to_string(pid) + "/status");
  return {pid, info ? info->start_ticks : 0, effective_user(status.value_or("")).value_or(0)};
}

}  // namespace hwprof
