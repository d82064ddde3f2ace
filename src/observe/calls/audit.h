// LD_AUDIT's side of hwprof: makes the table in which the audit library counts, tells a command of
// it by its environment, and reads it. Needs no privilege.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/base/unique_fd.h"
#include "src/observe/audit/table.h"
#include "src/observe/calls/audited_calls.h"
#include "src/observe/calls/exact_wish.h"
#include "src/observe/routines/timed_call.h"

namespace hwprof::observe {

// The audit library: beside the program as it was built, or where it was installed.
Result<std::string> find_audit_library();

class Audit {
 public:
  static Result<Audit> create(const std::string& library);
  Audit(Audit&& other) noexcept;
  Audit& operator=(Audit&&) = delete;
  ~Audit();

  // Whether it is the file of the stubs: calls that they pass on come from there.
  [[nodiscard]] bool is_library(const std::string& path) const;
  // LD_AUDIT and a tunable of the loader, added to what is in there already, and the variable that
  // names the table. `thread_bytes`: what the program's files need (ElfFile::fixed_thread_bytes).
  [[nodiscard]] std::vector<std::string> environment(std::uint64_t thread_bytes) const;
  // Those calls are handed to libhwprof-exact, where a process has it. To be said before one
  // starts.
  void count_exactly(const ExactWish& wish);
  struct ExactTally {
    std::uint64_t calls = 0;            // of the routine
    std::uint64_t handed_over = 0;      // each leaves a count, or why there is none, if it returns
    std::uint64_t without_counter = 0;  // chosen, in a process without libhwprof-exact
    std::uint64_t filtered = 0;         // chosen, in one that limits its system calls
  };
  [[nodiscard]] ExactTally exact_tally() const;
  // Where in the table a program tells in which module it is.
  static std::string modules_variable();
  // Programs that have begun to count, each exec() one.
  [[nodiscard]] std::uint64_t processes() const;
  // Bindings that found no room in the table.
  [[nodiscard]] std::uint64_t unwatched() const;
  // Files that export products, and whether a function of theirs was called that is not counted.
  [[nodiscard]] std::map<std::string, bool> blas_files() const;
  // Calls in a module that found no room there.
  [[nodiscard]] std::uint64_t unplaced() const;
  // Reads the records of long calls before others take their places: 20 ms are soon enough.
  // `ended` gets them.
  void drain(std::vector<TimedCall>* ended = nullptr);
  // Long calls get the lines of Python that they came from. To be said before a program starts.
  void read_stacks_by(CallStacks stacks);
  // When all that could call has ended, or is to be left.
  AuditedCalls finish();

 private:
  struct Moment {
    std::uint64_t ticks = 0;
    double wall_ns = 0;
    static Moment now();
  };

  Audit() = default;
  [[nodiscard]] TickClock tick_clock() const;
  static double rate_since(const Moment& began);

  UniqueFd file_;
  audit::Table* table_ = nullptr;
  std::string library_;
  std::uint64_t nonce_ = 0;
  // As the table has it, which the watched program can write.
  audit::Clock clock_ = audit::Clock::kCounter;
  Moment began_;
  LongCalls long_calls_;
  pid_t owner_ = 0;  // whose descriptor it is: the environment may be asked for after a fork()
};

}  // namespace hwprof::observe
