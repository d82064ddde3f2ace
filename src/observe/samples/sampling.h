// E4, where the CPU time of a program went: its process tree is sampled by a clock of the kernel,
// which needs no PMU and no root (kernel.perf_event_paranoid up to 2). What a sample points at, be
// it a file or code generated at run time, is read and judged afterwards, when the program has
// ended.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/model/stacks.h"
#include "src/observe/routines/call_stacks.h"
#include "src/observe/routines/timed_call.h"
#include "src/observe/samples/line_profile.h"
#include "src/observe/samples/width.h"
#include "src/observe/unwind/unwound.h"

namespace hwprof::observe {

// 997: a prime, so that it does not keep step with what the program does every millisecond.
struct SamplingOptions {
  double hz = 997;      // 1..10000
  bool stacks = false;  // call stacks, for flame graphs: by frame pointers, or
  // by unwind information: 8 KiB a sample, of which each is waited for.
  bool unwind = false;
  // Source lines, from debug information and Python's interpreters.
  bool lines = false;
  // Functions of Python in the stacks, from its interpreters: some 20 reads of their memory a
  // sample.
  bool python = false;
  // The stacks once more with objects, lines and inlined functions.
  bool places = false;
  UnwoundHook hook = {};  // gets each sample with its stack, unwound, in the order of time
};

inline constexpr const char* kGeneratedCode = "[generated code]";
inline constexpr const char* kKernelCode = "[kernel]";
// The kernel's work at an instruction that is no system call: it touched memory that was not there
// yet. Seldom an interrupt that came there and left more to do.
inline constexpr const char* kFaultCode = "[page faults]";
inline constexpr const char* kVdsoCode = "[vdso]";
// Where the kernel keeps the instructions that probes of ours stand on, and steps through them.
inline constexpr const char* kProbeCode = "[uprobes]";
inline constexpr const char* kUnknownCode = "[unknown]";

// Samples in one function of one file, in loops of one class.
struct HotSpot {
  std::string path;  // or one of the names above
  // "" where the file names none: stripped, generated. In the kernel: of the program's code that
  // called it, or its file.
  std::string symbol;
  std::uint64_t file_offset = 0;  // of the instruction hit most often; generated code: its address
  std::uint64_t samples = 0;
  LoopClass loop;
  std::vector<int> threads;  // distinct thread ids, ascending
  // Samples of other threads in the same file, each within one period before one of these: a thread
  // on a CPU gives one a period, so `beside` / `samples` is how many others were there at once.
  std::uint64_t beside = 0;
};

// Samples of a thread that waited in the code of one file.
struct WaitingSamples {
  std::string file;
  std::uint64_t samples = 0;
  std::uint64_t in_yield = 0;  // of them, through sched_yield
  bool idle = false;           // in the function that the thread was started with: it has no work
};
struct ThreadSamples {
  int tid = 0;
  std::string start_file;  // of the function that it was started with; "": not known
  std::uint64_t samples = 0;
  std::uint64_t arithmetic = 0;  // in loops that compute in floating point
  std::vector<WaitingSamples> waits;
};

struct SampleProfile {
  std::uint64_t samples = 0;
  std::uint64_t lost = 0;  // that the kernel found no room for
  double hz = 0;           // as the kernel accepted it
  bool kernel = true;      // the kernel's own time was sampled too
  std::vector<ThreadSamples> threads;
  std::vector<HotSpot> spots;  // most samples first
  std::vector<report::FoldedStack> stacks;
  report::PlacedStacks placed;
  // Of the samples that were unwound, whose stacks reach the entry of the program, through main, or
  // the start of their thread.
  std::optional<double> whole_stacks;
  std::vector<report::HotLine> lines;  // most samples first
  std::optional<LineProfile> by_line;  // with SamplingOptions::lines, where there is a sample
  std::vector<std::string> notes;      // what it could not see, a sentence each
};

class Sampling {
 public:
  // `pid`: a child that waits before its execve (on_exec: sampling begins with that), or a running
  // process: all its threads, and the processes that it has started.
  static Result<Sampling> open(int pid, bool on_exec, const SamplingOptions& options);
  Sampling(Sampling&&) noexcept;
  Sampling& operator=(Sampling&&) noexcept;
  ~Sampling();

  // Readable when a ring is half full, of stacks that are unwound with the first sample: poll them,
  // and drain() then, and every 100 ms anyway.
  [[nodiscard]] std::vector<int> descriptors() const;
  // Takes what the rings hold; reads generated code from the living process.
  void drain();
  // The function at `address` is the one that this thread was started with.
  // False: nothing is known there, yet.
  bool begins_at(int pid, int tid, std::uint64_t address);
  // What makes lines of the frames of Python that calls came from, as long as this lives.
  CallStacks call_stacks();
  // A call that has ended, of which samples may lie in it.
  void add_call(const TimedCall& call);
  // Ends the sampling; takes seconds where there are many symbols. Call once.
  SampleProfile finish();

 private:
  struct State;
  explicit Sampling(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hwprof::observe
