// Times as reports have them: "2026-11-25T14:20:00Z", UTC, in whole seconds (ISO 8601).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hwprof {

std::string utc_now();
// Since 1970; absent for text that is no such time.
std::optional<std::int64_t> unix_seconds(const std::string& utc);

}  // namespace hwprof
