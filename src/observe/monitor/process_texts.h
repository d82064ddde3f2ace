// What the kernel writes of each process, in /proc/PID: read by processes of hwprof's own, since a
// process can make whoever reads that wait. One that is held inside execve, by a page of its user's
// own file system, holds each reader of its stat (exec_update_lock); and who reads the folder /proc
// into such a page holds who looks a name up there. What a reader waits for is passed over.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
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

// Whose user ids an ordinary user has besides his own (subuid(5)): all of them count as one.
class SubordinateIds {
 public:
  explicit SubordinateIds(std::string_view subuid);
  // The first of the range that `user` lies in, or `user`.
  [[nodiscard]] uid_t counts_as(uid_t user) const;

 private:
  std::map<uid_t, uid_t> ranges_;  // last by first
};

struct ProcessTexts {
  pid_t pid = 0;
  std::string stat, status, cgroup;  // "" where there is no such file
};

// A reader that waits in the kernel for a process, against SIGKILL.
struct LeftReader {
  pid_t reader = 0;
  pid_t process = 0;  // 0: one of that user's, which is not known
  uid_t user = 0;     // whom that counts as
};

struct TextsOfAll {
  std::vector<ProcessTexts> texts;
  std::vector<pid_t> held;  // whose texts did not come in time
  // A text has more than 1 MiB, those of its user have 16 MiB beyond 8 KiB each, or all 128 MiB.
  std::vector<pid_t> too_much;
  std::vector<pid_t> untold;  // for which no time was left
  std::vector<LeftReader> left;
};

struct TextsPatience {
  std::chrono::milliseconds one{1000};  // half of it after each of that user's that took so long
  std::chrono::milliseconds of_user{1000};  // then the others come first
  std::chrono::milliseconds all{5000};
};

// Of all processes that may be seen in `folder`, or of that user's,
// but for those in `passed`: one of each user by turns. Who makes readers wait cannot be told,
// since a process can hold another's folder (errands.h): of the user whose processes were waited
// for more often, or whose texts took longer, the others come last. An error where the folder
// itself cannot be read.
Result<TextsOfAll> read_process_texts(const std::set<pid_t>& passed = {},
                                      std::optional<uid_t> of = std::nullopt,
                                      const TextsPatience& patience = {},
                                      const std::string& folder = "/proc");

}  // namespace hwprof::observe
