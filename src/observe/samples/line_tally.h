// Samples by the line and the stack of Python that they were taken under. A sample inside a timed
// call belongs to that call: one of its own thread by thread and time, one of a worker thread by
// time. What was read of the interpreter then holds only where it was read while that call was
// open. Pure.
#pragma once

#include <sys/types.h>

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

// A line of a file, and not of a package that was installed or of Python's own library.
bool is_users(const report::SourceLine& line, const report::SourceLine& outermost);
// Which frame of a stack, innermost first, has its time: the innermost one of the user's, else of
// any file, else the first.
std::size_t user_frame(const std::vector<const report::SourceLine*>& stack);

class LineTally {
 public:
  // In the order of time. `native`: the number of the sample's native stack.
  void add(std::uint32_t native, pid_t pid, pid_t tid, std::uint64_t time_ns, PythonRead read);
  void call(const TimedCall& call) { calls_.push_back(call); }
  // All samples up to that time have been added.
  void settle(std::uint64_t time_ns);

  // What ran in a sample with such a stack: kPythonItself, kWaiting, or its file's name.
  using NameOf = std::function<std::string(std::uint32_t native)>;
  LineProfile finish(const LineStacks& stacks, const NameOf& name_of);

 private:
  static constexpr std::uint64_t kNoCall = ~std::uint64_t{0};
  struct Pending {
    std::uint32_t native = 0;
    pid_t tid = 0;
    std::uint64_t time_ns = 0;
    PythonRead read;
    std::uint64_t kind = kNoCall;
    double inverse_ns = 0;
    bool in_own_call = false, proven = false;
    std::uint32_t stack = 0;
  };
  struct Seen {  // of a thread, on behalf of a worker
    std::uint64_t time_ns = 0, read_ns = 0;
    std::uint32_t stack = 0;
  };
  struct InCall {
    std::uint32_t stack = 0;  // 0: nobody saw the thread in that call
    std::uint64_t kind = 0;
    std::uint32_t native = 0;

    auto operator<=>(const InCall&) const = default;  // NOLINT(modernize-use-nullptr)
  };

  void apply(const TimedCall& call);
  [[nodiscard]] std::uint32_t stack_in(const TimedCall& call) const;
  void book(const Pending& sample);
  void expire(std::uint64_t before_ns);
  void share_out();
  void leave_out(NoLine why, std::uint32_t native, double samples);
  void add_stacks(LineProfile& profile, const NameOf& name_of) const;

  std::vector<TimedCall> calls_;                        // not yet applied
  std::map<pid_t, std::deque<Pending>> own_, workers_;  // by thread, by process
  std::map<pid_t, std::deque<Seen>> seen_;
  std::map<pid_t, pid_t> process_of_;
  std::map<InCall, LineCalls> in_calls_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> outside_,
      by_workers_;  // by stack and native
  std::map<std::pair<NoLine, std::uint32_t>, double> without_;
  double samples_ = 0;
};

}  // namespace hwprof::observe
