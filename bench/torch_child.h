// PyTorch in a child process that measures on command, slice by slice: its slices and ours take
// turns through a socket, so that a ratio comes from one run. The other end is bench/torch_rows.py.
#pragma once

#include <sys/types.h>

#include <string>

#include "src/base/result.h"
#include "src/base/unique_fd.h"

namespace hwprof::bench {

class TorchChild {
 public:
  TorchChild() = default;  // none: every call says so
  TorchChild(const TorchChild&) = delete;
  TorchChild& operator=(const TorchChild&) = delete;
  ~TorchChild();  // closes the channel, which ends the child

  // Starts `python script`, on the CPUs of this process; why that fails, the next call says.
  void start(std::string python, std::string script);
  // `spec`: JSON of the work that is measured from now on.
  Result<void> prepare(const std::string& spec);
  Result<double> slice_ns(double seconds);
  // "1.13.1" with its threads and libraries.
  Result<std::string> version();

 private:
  Result<std::string> ask(const std::string& line);

  UniqueFd channel_;  // a socket: one descriptor for both ways
  pid_t pid_ = -1;
  std::string missing_ = "not asked for (--torch SCRIPT)";
};

}  // namespace hwprof::bench
