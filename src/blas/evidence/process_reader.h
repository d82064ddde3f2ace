// The process that reads what processes of one user are made of: their maps, files, memory and
// environment. It opens them with the rights of whoever started hwprof, gives those away for that
// user's alone (src/observe/monitor/sandbox.h) before it reads the first byte, and hands back
// numbers and short texts in places of fixed size: nobody parses what it wrote. One that is taken
// over can lie about processes of its user, and no more.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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
  std::size_t more_libraries = 0;     // that there was no room for
  Variables variables;
  std::string environment_reason;  // why none is known, or not all
};

class ProcessReader {
 public:
  // At once; the rights are `account`'s.
  static Result<ProcessReader> start(std::vector<observe::SeenProcess> processes,
                                     const Account& account);
  ProcessReader(ProcessReader&&) = default;
  ProcessReader& operator=(ProcessReader&&) = default;
  ~ProcessReader();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int descriptor() const { return ended_.get(); }  // readable once it has ended
  // Changes as it goes on.
  [[nodiscard]] std::uint32_t steps() const;
  // The number of the process that it opens or reads.
  [[nodiscard]] std::size_t at() const;

  void kill() const;
  // Kills it, and waits for its end. False: it does not end, since it waits in the kernel.
  bool end(std::chrono::steady_clock::time_point deadline);
  // Not waited for any more.
  void leave() { ended_.reset(); }
  // In the order of start(); absent is what it has not read. Once it has ended, or was
  // killed.
  [[nodiscard]] std::vector<std::optional<ReadProcess>> results() const;
  [[nodiscard]] const std::string& how_it_ended() const { return how_it_ended_; }

 private:
  struct Shared;  // memory that both have
  struct Unmap {
    std::size_t bytes = 0;
    void operator()(Shared* shared) const;
  };
  using SharedMemory = std::unique_ptr<Shared, Unmap>;
  ProcessReader(std::vector<observe::SeenProcess> processes, SharedMemory shared)
      : processes_(std::move(processes)), shared_(std::move(shared)) {}
  [[noreturn]] void read(const Account& account, pid_t parent);

  std::vector<observe::SeenProcess> processes_;
  SharedMemory shared_;
  pid_t pid_ = 0;
  UniqueFd ended_;  // invalid once it was waited for
  std::string how_it_ended_;
};

// Of one reader: what it opens must fit into its descriptors.
inline constexpr std::size_t kMostProcessesOfReader = 4096;

}  // namespace hwprof::blas
