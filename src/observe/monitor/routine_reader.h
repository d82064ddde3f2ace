// Where the routines of a BLAS begin in a file, said by a fresh process that has no rights, reads
// this one file, and ends. The monitor reads no bytes that others may have written, and the worker
// may have been taken over by those that it read; a file that takes the reader over can make it lie
// about that file alone.
#pragma once

#include <sys/types.h>

#include <memory>
#include <vector>

#include "src/base/account.h"
#include "src/base/result.h"
#include "src/base/unique_fd.h"
#include "src/observe/calls/routine_file.h"

namespace hwprof::observe {

class RoutineReader {
 public:
  // With the rights of that user, and fewer (sandbox.h).
  static Result<RoutineReader> start(UniqueFd file, const Account& user);
  RoutineReader(RoutineReader&&) = default;
  RoutineReader& operator=(RoutineReader&&) = default;
  ~RoutineReader();

  [[nodiscard]] int descriptor() const { return ended_.get(); }  // readable at its end
  // Of a file that holds none: nothing. Where it has not ended, it is not waited for.
  [[nodiscard]] Result<std::vector<EntryPoint>> routines();
  UniqueFd take_file() { return std::move(file_); }

 private:
  struct Found;  // memory that is shared with the process
  struct Unmap {
    void operator()(Found* found) const;
  };
  using SharedFound = std::unique_ptr<Found, Unmap>;
  RoutineReader(UniqueFd file, SharedFound found)
      : file_(std::move(file)), found_(std::move(found)) {}
  [[noreturn]] void read(const Account& user);

  UniqueFd file_;
  SharedFound found_;
  pid_t pid_ = 0;
  UniqueFd ended_;  // invalid once it was waited for
};

}  // namespace hwprof::observe
