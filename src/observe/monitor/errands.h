// Looks names up, and writes files, in processes of their own. Whoever may read a folder can hold
// it: a getdents64(2) into memory that his own file system does not give keeps the folder's lock,
// and each new look-up of a name in it waits for that, against SIGKILL. So root's monitor looks up
// nothing by itself, once a user's program runs, of what is that user's or his to read.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <set>
#include <string>

#include "src/base/result.h"

namespace hwprof::observe {

using Errand = std::function<Result<std::string>()>;

class Errands {
 public:
  // Gives what `errand` gives, at most 1 MiB. ETIMEDOUT where it does not end within `patience`:
  // then it is killed, and left where it waits even so. It has no descriptor of hwprof's.
  Result<std::string> run(std::chrono::milliseconds patience, const Errand& errand);

  // Children that are none of the command's.
  [[nodiscard]] const std::set<pid_t>& left() const { return left_; }

 private:
  std::set<pid_t> left_;
};

// `work` on a file of this name as an errand where hwprof is root, whose hang is worth another
// user's trouble. By itself where the name leads to what hwprof has open: /dev/stdout, /dev/fd/63.
Result<void> at_file(Errands& errands, const std::string& path, std::chrono::milliseconds patience,
                     const std::function<Result<void>()>& work);

}  // namespace hwprof::observe
