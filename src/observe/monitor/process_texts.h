// What the kernel writes of each process, in /proc/PID: read by processes of hwprof's own, since a
// process can make whoever reads that wait. One that is held inside execve, by a page of its user's
// own file system, holds each reader of its stat (exec_update_lock); and who reads the folder /proc
// into such a page holds who looks a name up there. What a reader waits for is passed over.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "src/base/result.h"

namespace hwprof::observe {

// Who is looked at first: system users, then who has most processes.
class UserOrder {
 public:
  void add(uid_t user, std::size_t processes) { processes_[user] += processes; }
  [[nodiscard]] bool before(uid_t one, uid_t other) const;

 private:
  std::map<uid_t, std::size_t> processes_;
};

struct ProcessTexts {
  pid_t pid = 0;
  std::string stat, status, cgroup;  // "" where there is no such file
};

// A reader that SIGKILL does not end, and what it waits for.
struct LeftTextsReader {
  pid_t process = 0, reader = 0;
  uid_t owner = 0;  // of the process
};

struct TextsOfAll {
  std::vector<ProcessTexts> texts;
  std::vector<pid_t> held;        // whose texts a reader waited for
  std::vector<pid_t> of_holders;  // not asked for: their user holds as many readers as he may
  std::vector<pid_t> too_much;    // with a text of more than 1 MiB, or after 128 MiB of all
  std::vector<pid_t> untold;      // for which no time was left
  std::vector<LeftTextsReader> left;
};

struct TextsPatience {
  std::chrono::milliseconds one{1000};      // half of it after each that took as long
  std::chrono::milliseconds of_user{1000};  // then the others come first
  std::chrono::milliseconds all{5000};
};

// Of all processes that may be seen in `folder`, but for those that the readers of `left`, of
// earlier calls, wait for. Those of system users come first, then of who has most; of a user who
// holds a reader, or whose texts took long, the others come last. An error where the folder itself
// cannot be read.
Result<TextsOfAll> read_process_texts(const std::vector<LeftTextsReader>& left = {},
                                      const TextsPatience& patience = {},
                                      const std::string& folder = "/proc");

}  // namespace hwprof::observe
