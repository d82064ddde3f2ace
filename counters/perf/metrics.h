// What follows from counts, and the gates that other tools lack: a number that cannot be is marked
// as such, with the known suspect. Pure; each formula stands once.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "counters/events/event_table.h"
#include "counters/perf/reading.h"

namespace hwprof {

// The count a call of the event requested as `name`; absent when it has no value.
std::optional<double> value_of(std::span<const EventCount> counts, std::string_view name);

// Each absent when an input is absent or a divisor is 0.
std::optional<double> ipc(std::optional<double> instructions, std::optional<double> cycles);
std::optional<double> gflops(std::optional<double> flops, double seconds);

struct Limits {
  double max_ipc = 32;                // no core renames more than 16 operations a cycle
  std::optional<double> peak_gflops;  // of the threads that were counted
  std::optional<double> seconds;      // wall time of a call, for the FLOP rate
};

// Twice the core's width: a fused pair of instructions passes as one operation.
Limits limits_of(const CoreRow* core);

// Fills EventCount::implausible where a value breaks a limit; clears it elsewhere.
void flag_implausible(std::span<EventCount> counts, const Limits& limits);

}  // namespace hwprof
