// The Python stacks of the observed processes, one for each sample, to be read as soon as the
// kernel's record of it is there. What is read later says when.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/observe/perf/records.h"
#include "src/observe/proc/process_memory.h"
#include "src/observe/python/frames.h"
#include "src/observe/python/interpreter.h"
#include "src/observe/python/line_stacks.h"
#include "src/observe/unwind/unwound.h"

namespace hwprof::observe {

// Why a sample has no line.
enum class NoLine : std::uint8_t {
  kNone,       // it has one
  kNotPython,  // the process runs no Python
  kUnknownPython,
  kWorker,   // the interpreter does not know the thread
  kNoFrame,  // the interpreter starts or ends
  kLate,     // read too long after the sample
  kMoved,    // it went on while it was read
  kGone,     // the process or its memory was not there any more
  kNoRoom,   // more stacks than are kept
};

// Where the Python threads of a process stood when a sample was read.
struct PythonRead {
  NoLine why_not = NoLine::kNotPython;
  std::uint32_t stack = 0;  // of the sampled thread; there also where it is kLate
  std::uint64_t read_ns = 0;
  bool exact = false;  // `stack` is that of the sample, whenever it was read
  // Of a worker: the stacks of the threads that the interpreter knows, where these are few.
  std::vector<std::pair<pid_t, std::uint32_t>> others = {};
};

// The same, of which it is not said yet what it means for the sample.
struct PythonLook {
  PythonRead read;
  pid_t pid = 0;
  std::vector<PythonFrame> frames = {};  // of the thread
};

class PythonWatch {
 public:
  PythonWatch(ProcessMemory& memory, SourceLines& lines) : memory_(memory), stacks_(lines) {}

  // What becomes of processes.
  void apply(const Record& record);
  // Where the sampled thread stands by now: to be called before anything else that takes time.
  PythonLook look(pid_t pid, pid_t tid, std::uint64_t time_ns);
  // Where it stood when it was sampled, as far as its stack tells.
  void settle(PythonLook& look, const UnwoundSample* sample);

  // Of a call of a process, which has just ended. 0: the process is gone, or runs no Python that
  // is known.
  std::uint32_t stack_of_call(pid_t pid, std::span<const CalledFunction> functions);

  [[nodiscard]] bool met() const { return !versions_.empty() || !unknown_.empty(); }
  [[nodiscard]] const LineStacks& stacks() const { return stacks_; }
  // Of interpreters whose frames are read.
  [[nodiscard]] const std::set<std::string>& versions() const { return versions_; }
  // Why there are no lines of some, a sentence each.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  struct Process {
    std::optional<PythonInterpreter> interpreter;
    std::unique_ptr<PythonFrames> frames;
    bool looked = false;
  };
  void find_interpreter(pid_t pid, Process& process);
  void look_at_others(Process& process, pid_t pid, PythonRead& read);
  [[nodiscard]] ReadMemory memory_of(pid_t pid);

  ProcessMemory& memory_;
  Interpreters interpreters_;
  std::map<pid_t, Process> processes_;
  LineStacks stacks_;
  std::set<std::string> versions_, unknown_;
};

}  // namespace hwprof::observe
