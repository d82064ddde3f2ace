// The process that has the observed user's rights and does what needs none of root's; as the
// monitor, which forks it, knows it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "src/base/account.h"
#include "src/base/unique_fd.h"
#include "src/observe/monitor/channel.h"
#include "src/observe/monitor/monitor.h"

namespace hwprof::observe {

// Of the process beside it that ends after the monitor, in /proc/PID/comm.
inline constexpr const char* kKeeperName = "hwprof-keeper";

struct Worker {
  pid_t pid = 0;
  UniqueFd ended;  // readable then
  Channel questions, events;
};

// `hand`: the worker's end of the channel to the hand.
Result<Worker> start_worker(const Account& user, Channel hand, const MonitorOptions& options,
                            const WorkerTask& work);

// "12 MiB of memory at most": of this process, for --verbose.
std::string peak_memory();

}  // namespace hwprof::observe
