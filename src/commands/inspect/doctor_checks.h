// The doctor's judgements: facts in, findings out. Pure, so that tests can feed machines that
// nobody here owns.
#pragma once

#include <vector>

#include "src/commands/inspect/doctor_facts.h"
#include "src/report/documents/inspect.h"

namespace hwprof {

// All thresholds in one place.
struct DoctorThresholds {
  double busy = 0.10;  // share of a CPU taken by others: more is too much
  double steal_note = 0.005;
  double steal_mend = 0.02;
  unsigned few_counters = 4;
  std::uint64_t descriptors_a_thread = 24;  // a counter each, two groups a pass
  std::uint64_t descriptors_besides = 128;
};
inline constexpr DoctorThresholds kDoctorThresholds;

// One finding a check, in the order of the table.
std::vector<report::Finding> examine(const DoctorFacts& facts);

}  // namespace hwprof
