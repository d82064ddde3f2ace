// From what the audit library has written into its table (src/observe/audit/table.h) to sites and
// times. The watched program may have written anything there, at any time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/model/run_record.h"
#include "src/observe/audit/table.h"
#include "src/observe/calls/call_places.h"
#include "src/observe/calls/union_of_times.h"
#include "src/observe/routines/timed_call.h"

namespace hwprof::observe {

// What a framework's module called itself, in no module inside it; numbers are the process's own.
struct CallsOfModule {
  std::uint32_t process = 0, module = 0;
  report::CallSite site;
  // Of a primitive or a plan; the symbol is then what it does.
  std::optional<report::PreparedCall> prepared = {};
};

// Calls of one routine and one shape from one place, as the table counts them.
struct CallKind {
  std::uint64_t number = 0;  // TimedCall::kind
  std::string symbol, library, caller;
  std::optional<report::CallShape> shape;  // with its count and time
  std::optional<double> flops;             // of one call
  std::uint64_t count = 0;
  double time_ns = 0;
  // Of a primitive or a plan; the symbol is then what it does.
  std::optional<report::PreparedCall> prepared = {};
};

struct AuditedCalls {
  std::vector<report::CallSite> sites;  // of outermost calls
  std::vector<report::CallSite> lapack;
  std::vector<report::PreparedCall> primitives, transforms;
  // With at least one thread inside a call of a BLAS. Absent where several threads made many calls
  // too short to be recorded one by one.
  std::optional<double> wall_ns;
  std::uint64_t open = 0;                // calls that have not returned
  std::vector<report::TraceSpan> spans;  // the longest calls, since the start of the first
  std::optional<double> spans_begin_ns;  // CLOCK_MONOTONIC then
  std::string spans_note;                // which are left out
  std::string lines_reason;              // why some have no line of Python
  std::vector<CallKind> kinds;           // of all calls, those within others among them
  std::vector<CallsOfModule> of_modules;
  std::vector<CallingThread> callers;  // in long calls of a BLAS, but those within others
};

// What the ticks of records are in CLOCK_MONOTONIC.
struct TickClock {
  double ns_per_tick = 1;
  std::uint64_t ticks = 0;  // at one moment,
  double wall_ns = 0;       // and the time then

  [[nodiscard]] double wall_of(std::uint64_t at) const {
    // Subtracted as what they are: a double has not all bits of a counter.
    const bool before = at < ticks;
    const auto distance = static_cast<double>(before ? ticks - at : at - ticks) * ns_per_tick;
    return before ? wall_ns - distance : wall_ns + distance;
  }
};

// Reads the records of long calls while they are there: those after them take their places.
class LongCalls {
 public:
  struct Call {
    std::uint64_t began = 0, ended = 0;  // ticks
    std::uint32_t site = 0, slot = 0, thread = 0;
    KnownPlace place = {};

    [[nodiscard]] std::uint64_t ticks() const { return ended - began; }
    // CallKind::number
    [[nodiscard]] std::uint64_t kind() const { return std::uint64_t{site} << 32U | slot; }
  };
  void read_stacks_by(CallStacks stacks) { places_.read_stacks_by(std::move(stacks)); }
  // `take` gets each one.
  void read(const audit::Table& table, const std::function<void(const Call&)>& take = {});

  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  // With at least one thread inside a call of a BLAS.
  [[nodiscard]] double inside_ticks() const { return inside_.sum(); }
  // Of all calls of a site.
  [[nodiscard]] double ticks_of(std::uint32_t site) const;
  // By thread and site; of a BLAS.
  struct Sum {
    std::uint64_t calls = 0;
    double ticks = 0;
  };
  [[nodiscard]] const std::map<std::pair<std::uint32_t, std::uint32_t>, Sum>& threads() const {
    return threads_;
  }
  // The longest, a few thousands.
  [[nodiscard]] const std::vector<Call>& longest() const { return longest_; }
  [[nodiscard]] const CallPlaces& places() const { return places_; }

 private:
  void keep(const Call& call);
  void add_to_thread(const Call& call);

  std::uint64_t next_ = 1;       // number of the record to be read
  std::uint64_t unwritten_ = 0;  // the one that was not there when it was last looked for
  std::uint64_t lost_ = 0;
  UnionOfTimes inside_;
  struct Site {
    bool blas = false;
    double ticks = 0;
  };
  std::map<std::uint32_t, Site> sites_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Sum> threads_;
  std::vector<Call> longest_;
  CallPlaces places_;
};

// A call that a routine hands on to the same one of another file (FlexiBLAS, the dispatcher of MKL)
// names who served it, and is not counted again.
AuditedCalls read_audited_calls(const audit::Table& table, const LongCalls& long_calls,
                                const TickClock& clock);

}  // namespace hwprof::observe
