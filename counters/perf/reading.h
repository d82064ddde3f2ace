// Arithmetic on raw counts: pure functions, so that machines without a PMU can test all of it.
// Traps and their sources: perf_event_open(2), "Reading results"; README, "How a number is made".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/model/machine.h"

namespace hwprof {

std::string to_string(CountStatus status);  // "ok", "scaled", "not-counted", ...

// What one read() of a group gives, or the difference of two.
struct RawReading {
  std::uint64_t time_enabled_ns = 0;
  std::uint64_t time_running_ns = 0;
  std::vector<std::uint64_t> values;  // in the order in which the members were opened
};

// after - before, member by member. Counters are free-running 64-bit numbers: modulo 2^64.
RawReading difference(const RawReading& after, const RawReading& before);

// sum += part, member by member, times too.
void accumulate(const RawReading& part, RawReading& sum);

// running / enabled in [0, 1]; absent when the group was never enabled.
std::optional<double> coverage(const RawReading& reading);

struct ScaledCount {
  std::optional<double> value;  // absent unless kOk or kScaled
  CountStatus status = CountStatus::kNotCounted;
  std::optional<double> coverage;
};

// Extrapolates member `index` to the whole time enabled.
ScaledCount scale(const RawReading& reading, std::size_t index);

}  // namespace hwprof
