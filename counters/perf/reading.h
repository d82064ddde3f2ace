// Arithmetic on raw counts: pure functions, so that machines without a PMU can test all of it.
// Traps and their sources: perf_event_open(2), "Reading results"; README, "How a number is made".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hwprof {

// How a count came about. Everything but kOk and kScaled has no value, and a reason instead.
enum class CountStatus {
  kOk,           // counted the whole time
  kScaled,       // multiplexed: extrapolated by enabled/running, coverage < 1
  kNotCounted,   // opened, but never ran
  kUnsupported,  // this machine (or kernel) cannot count it
  kDenied,       // it could, but this user may not
};

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

// One requested event, as the report shows it.
struct EventCount {
  std::string name;             // as requested
  std::optional<double> value;  // events a call of the counted work
  std::optional<double> total;  // over all counted calls
  double calls = 0;             // how many calls were counted
  CountStatus status = CountStatus::kUnsupported;
  std::optional<double> coverage;  // share of the time in which it really counted
  std::string unit;                // "1" for counts, "ns" for clocks
  std::string event;               // the native event it became, with its encoding; may be empty
  std::string source;              // "kernel", "own table", "libpfm4 4.13", "raw"
  std::string reason;              // why there is no value, or what to know about it; may be empty
  std::string shown_as;            // name to print: not `name` where the event means another thing
  std::string implausible;         // why a value cannot be right, with the suspect; else empty
};

}  // namespace hwprof
