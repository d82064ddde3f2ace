// What an errno of perf_event_open means to a person: status, reason and remedy, as data. The same
// ENOENT says "no PMU", "no such event" and "wrong type", so the context decides. Pure.
#pragma once

#include <string>

#include "src/model/machine.h"

namespace hwprof {

struct Refusal {
  CountStatus status = CountStatus::kUnsupported;
  std::string reason;  // what stands in the way
  std::string remedy;  // what would mend it; may be empty
};

// "reason; remedy" for a report's one line.
std::string to_text(const Refusal& refusal);

// Why a machine without a core PMU cannot count a hardware event.
Refusal no_pmu(const Machine& machine);

// `code`: errno of an event that was opened alone for this process.
Refusal explain_open_failure(const Machine& machine, int code, const std::string& event);

}  // namespace hwprof
