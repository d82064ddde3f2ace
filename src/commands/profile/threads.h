// `--threads 1,2`: the same tasks on several numbers of threads, side by side.
#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <vector>

#include "src/measure/thread_shares.h"
#include "src/model/record.h"
#include "src/workloads/task.h"

namespace hwprof {

// What was measured on one number of threads.
struct ThreadsRun {
  report::ScalingCount count;
  std::vector<report::Row> rows;
  // By row: the median time of a call in each turn, absent where it had none.
  std::vector<std::vector<std::optional<double>>> turns_ns;
  std::vector<ThreadShares> shares;  // one a row
};

// How busy each thread is in each task, a tenth of a second long; the naive references, which are
// slow and run on one thread, have a reason instead.
std::vector<ThreadShares> share_cpus(std::span<const Task> tasks, const std::atomic<bool>& stop);

// All rows of the first run that have a time, each beside those of the other runs. Pure.
report::Scaling side_by_side(const std::vector<ThreadsRun>& runs, std::size_t cpus);

}  // namespace hwprof
