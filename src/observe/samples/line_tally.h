// Samples by the lines that they were taken under. A sample inside a timed call belongs to that
// call: one of its own thread by thread and time, one of a worker thread by time. What was read of
// an interpreter then holds only where it was read while that call was open. In a process without
// Python a worker is a thread whose stack has no line. Pure.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "src/observe/python/python_watch.h"
#include "src/observe/routines/timed_call.h"
#include "src/observe/samples/line_profile.h"

namespace hwprof::observe {

class LineTally {
 public:
  // In the order of time. `native`: the number of the sample's native stack.
  void add(std::uint32_t native, pid_t pid, pid_t tid, std::uint64_t time_ns, PythonRead read);
  void call(const TimedCall& call) { calls_.push_back(call); }
  // All samples up to that time have been added.
  void settle(std::uint64_t time_ns);

  // What is known of stacks once all samples are there.
  struct Facts {
    // What ran in a sample: kPythonItself, kWaiting, or its file's name.
    std::function<std::string(std::uint32_t native)> what_ran;
    std::function<LineStack(const LineSite& site)> lines_of;
    const SourceLines& lines;
  };
  LineProfile finish(const Facts& facts);

 private:
  static constexpr std::uint64_t kNoCall = ~std::uint64_t{0};
  struct Pending {
    std::uint32_t native = 0;
    pid_t tid = 0;
    std::uint64_t time_ns = 0;
    PythonRead read;
    std::uint64_t kind = kNoCall;
    double inverse_ns = 0;
    bool in_own_call = false;
    LineSite site = {};  // of that call

    [[nodiscard]] bool of_python() const {
      return read.why_not != NoLine::kNotPython && read.why_not != NoLine::kUnknownPython;
    }
  };
  struct Seen {  // of a thread, on behalf of a worker
    std::uint64_t time_ns = 0, read_ns = 0;
    std::uint32_t stack = 0;
  };
  struct InCall {
    LineSite site;  // of the calling thread; without `python`: nobody saw it in that call
    std::uint64_t kind = 0;
    std::uint32_t native = 0;
    bool python = false, own = false;  // of a process with Python, of the calling thread

    auto operator<=>(const InCall&) const = default;  // NOLINT(modernize-use-nullptr)
  };
  using Samples = std::map<pid_t, std::deque<Pending>>;

  void apply(const TimedCall& call);
  [[nodiscard]] LineSite site_of(const TimedCall& call) const;
  void book(const Pending& sample);
  void expire(std::uint64_t before_ns);
  void take_workers_lines(const Facts& facts);
  void share_out(const Facts& facts);
  void leave_out(NoLine why, std::uint32_t native, double samples);
  void add_stacks(LineProfile& profile, const Facts& facts) const;

  std::vector<TimedCall> calls_;  // not yet applied
  Samples own_, workers_;         // of Python: by thread, by process
  Samples native_;                // of processes without it
  std::map<pid_t, std::deque<Seen>> seen_;
  std::map<pid_t, pid_t> process_of_;
  std::map<InCall, LineCalls> in_calls_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> outside_,
      by_workers_;  // by stack and native
  std::map<std::pair<NoLine, std::uint32_t>, double> without_;
  double samples_ = 0;
};

}  // namespace hwprof::observe
