// The process that reads what processes of one user are made of: their maps, files, memory and
// environment. It opens them with the rights of whoever started hwprof, gives those away for that
// user's alone (src/observe/monitor/sandbox.h) before it reads the first byte, and hands back
// numbers and short texts in places of fixed size: nobody parses what it wrote. One that is taken
// over can lie about processes of its user, and no more.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "src/base/account.h"
#include "src/base/result.h"
#include "src/base/unique_fd.h"
#include "src/blas/evidence/process_blas.h"

namespace hwprof::blas {

// What was read of one process.
struct ReadProcess {
  bool read = false;
  std::string reason;                 // why not
  std::vector<MappedBlas> libraries;  // each BLAS once
  Variables variables;
  std::string environment_reason;  // why none is known
};

class ProcessReader {
 public:
  // At once; the rights are `account`'s.
  static Result<ProcessReader> start(std::vector<pid_t> pids, const Account& account);
  ProcessReader(ProcessReader&&) = default;
  ProcessReader& operator=(ProcessReader&&) = default;
  ~ProcessReader();

  // By pid, in the order of start(). One that has not ended by then is killed, and what it had not
  // read says so.
  std::vector<ReadProcess> finish(std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] const std::vector<pid_t>& pids() const { return pids_; }

 private:
  struct Shared;  // of one process, in memory that both have
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(Shared* shared) const;
  };
  using SharedMemory = std::unique_ptr<Shared, Unmap>;
  ProcessReader(std::vector<pid_t> pids, SharedMemory shared)
      : pids_(std::move(pids)), shared_(std::move(shared)) {}
  [[noreturn]] void read(const Account& account);
  static ReadProcess taken(const Shared& written, const std::string& unread);

  std::vector<pid_t> pids_;
  SharedMemory shared_;
  pid_t pid_ = 0;
  UniqueFd ended_;  // readable then; invalid once it was waited for
};

// Of one reader: what it opens must fit into its descriptors.
inline constexpr std::size_t kMostProcessesOfReader = 4096;

}  // namespace hwprof::blas
