// Looks names up, and writes files, in processes of their own. Whoever may read a folder can hold
// it: a getdents64(2) into memory that his own file system does not give keeps the folder's lock,
// and each new look-up of a name in it waits for that, against SIGKILL. So root's monitor looks up
// nothing by itself, once a user's program runs, of what is that user's or his to read.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "src/base/result.h"

namespace hwprof::observe {

using Errand = std::function<Result<std::string>()>;

class Errands {
 public:
  // Gives what `errand` gives; EFBIG where that is `most` bytes or more. ETIMEDOUT where it does
  // not end within `patience`: then it is killed, and left where it waits even so. ECANCELED where
  // as many wait as may. It has no descriptor of hwprof's. `about`: a file, or a folder, for
  // messages.
  Result<std::string> run(std::chrono::milliseconds patience, const std::string& about,
                          const Errand& errand, std::size_t most = std::size_t{1} << 20U);
  // The next is what hwprof was started for: the report has a place where others wait.
  void begin_last() { most_left_ = kMostLeft + 1; }

  // Children that are none of the command's.
  [[nodiscard]] std::set<pid_t> left() const;

 private:
  static constexpr std::size_t kMostLeft = 4;
  std::map<pid_t, std::string> left_;  // and what each waits for
  std::size_t most_left_ = kMostLeft;
};

// `work` on a file of this name as an errand where hwprof is root, whose hang is worth another
// user's trouble. By itself where the name leads to what hwprof has open: /dev/stdout, /dev/fd/63.
Result<void> at_file(Errands& errands, const std::string& path, std::chrono::milliseconds patience,
                     const std::function<Result<void>()>& work);

}  // namespace hwprof::observe
