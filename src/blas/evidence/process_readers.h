// The readers of all users' processes (process_reader.h), so many at once and no more. A user can
// make each reader of his wait in the kernel (a process held inside execve, a file system of his
// own), and where hwprof has no /proc of its own (own_proc.h) of others': /proc/PID is a folder
// that all may read and so hold (errands.h). Such a process is passed over, and said; nobody else's
// rows are lost for it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <set>
#include <vector>

#include "src/base/account.h"
#include "src/base/result.h"
#include "src/blas/evidence/process_reader.h"
#include "src/observe/monitor/process_texts.h"

namespace hwprof::blas {

// Processes that one reader has the rights for.
struct ReaderTask {
  Account account;
  std::vector<observe::SeenProcess> processes;
  uid_t user = account.uid;  // whom it counts as (observe::SubordinateIds)
};

using observe::LeftReader;

struct ReadersLimits {
  std::size_t at_once = 64;     // with those that were left
  std::size_t of_one_user = 8;  // of these
  // Over all looks: then no more of that user's processes are read, or of anybody's.
  std::size_t left_of_one_user = 32, left = 1024;
  // Without a step; half of it after each that took as long, of the same processes.
  std::chrono::milliseconds patience{2000};
  std::chrono::milliseconds all{5000};
};

// What each user's tasks wait for stands behind those of others: system users first, then who has
// most processes.
void put_known_users_first(std::vector<ReaderTask>& tasks);

// By task and process, in the order of `tasks`. `left`: of earlier looks, whose processes are in no
// task; those of this one are added.
Result<std::vector<std::vector<ReadProcess>>> read_processes(const std::vector<ReaderTask>& tasks,
                                                             std::vector<LeftReader>& left,
                                                             const ReadersLimits& limits = {});

}  // namespace hwprof::blas
