// An event's name, as a user gives it -> native events and weights on the PMU that counts for the
// pinned CPU. In this order: portable names (own table, then the kernel's generic events), raw
// encodings ("r01c2", "cpu/event=0xc2,umask=0x01/"), then any name that libpfm4 knows.
//
// "No such event" is a usage error; "this machine cannot count it" is an answer, with its reason.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "counters/events/native_event.h"
#include "counters/events/perf_error.h"
#include "src/base/result.h"
#include "src/model/machine.h"

namespace hwprof {

struct Term {
  NativeEvent event;
  double weight = 1;
};

struct ResolvedEvent {
  std::string name;      // as requested
  std::string shown_as;  // the name that the number deserves here
  std::string unit = "1";
  std::string event;        // native events with their encoding
  std::string source;       // "own table", "kernel", "raw", "libpfm4 4.13"
  std::string meaning;      // what is counted
  std::string caveat;       // how the number lies
  std::string document;     // where that is written; own table only
  std::vector<Term> terms;  // none: it cannot be counted here, `refusal` says why
  Refusal refusal;
  bool must_rise = false;  // Trial::kEverything moves it: 0 means that it does not count
  bool in_kernel = false;  // happens inside the kernel: user-only counting would give 0

  [[nodiscard]] bool countable() const { return !terms.empty(); }
};

// Fault::kUsage for a name that nothing knows, with the nearest names as the hint.
Result<ResolvedEvent> resolve(const Machine& machine, unsigned cpu, std::string_view name);

// "cycles,cpu/event=0xc2,umask=1/" -> two names: commas between slashes do not separate.
// Fault::kUsage for an empty name or a slash that is not closed.
Result<std::vector<std::string>> split_event_list(std::string_view text);

}  // namespace hwprof
