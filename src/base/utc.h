// Times as reports have them: "2026-11-25T14:20:00Z" (ISO 8601). hwprof writes UTC in whole
// seconds, and reads what other programs make of it: fractions, and offsets from UTC.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hwprof {

using UtcTime = std::chrono::sys_time<std::chrono::microseconds>;

std::string utc_now();
// Absent for text that is no such time: a day that no month has, no offset and no "Z".
std::optional<UtcTime> utc_time(std::string_view text);
// The same in whole seconds since 1970.
std::optional<std::int64_t> unix_seconds(std::string_view text);

}  // namespace hwprof
