// From requested names to the groups that will be opened: each event resolved, tried alone, and
// laid out in passes; and back from raw sums to one number a name. Internal to counters/.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "counters/events/resolve.h"
#include "counters/perf/counting.h"
#include "counters/perf/group.h"
#include "counters/perf/plan.h"

namespace hwprof {

struct SelectedTerm {
  std::size_t native = 0;  // index in Selection::natives
  double weight = 1;
};

struct SelectedEvent {
  ResolvedEvent resolved;
  std::vector<SelectedTerm> terms;  // none: `refusal` says why
  Refusal refusal;
  bool unlisted = false;  // the CPU does not name it among its events: a total of 0 says nothing
  std::string zero_note;  // what to say of a count of 0; may be empty
};

struct Selection {
  std::vector<SelectedEvent> events;  // in the order of the request
  std::vector<NativeEvent> natives;   // each once, however many events share it
  std::vector<PassPlan> passes;       // indices of natives
  bool user_only = false;             // the kernel's share cannot be counted by this user

  // Takes the last pass away, and with it every event that needs it.
  void drop_last_pass(const Refusal& refusal);
  [[nodiscard]] std::size_t counters_per_thread() const;
};

// Fault::kUsage for an unknown name; whatever cannot be counted stays in, with its reason.
Result<Selection> select_events(const Machine& machine, unsigned cpu,
                                std::span<const std::string> names, unsigned max_passes);

// Pure.
std::vector<EventCount> evaluate_tally(const Selection& selection, const Tally& tally);

}  // namespace hwprof
