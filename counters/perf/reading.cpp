#include "counters/perf/reading.h"

#include <algorithm>

namespace hwprof {

std::string to_string(CountStatus status) { return std::string(model::name_of(status)); }

RawReading difference(const RawReading& after, const RawReading& before) {
  RawReading result;
  result.time_enabled_ns = after.time_enabled_ns - before.time_enabled_ns;
  result.time_running_ns = after.time_running_ns - before.time_running_ns;
  result.values.resize(std::min(after.values.size(), before.values.size()));
  for (std::size_t i = 0; i < result.values.size(); ++i)
    result.values[i] = after.values[i] - before.values[i];
  return result;
}

void accumulate(const RawReading& part, RawReading& sum) {
  sum.time_enabled_ns += part.time_enabled_ns;
  sum.time_running_ns += part.time_running_ns;
  sum.values.resize(std::max(sum.values.size(), part.values.size()), 0);
  for (std::size_t i = 0; i < part.values.size(); ++i) sum.values[i] += part.values[i];
}

std::optional<double> coverage(const RawReading& reading) {
  if (reading.time_enabled_ns == 0) return std::nullopt;
  const double share =
      static_cast<double>(reading.time_running_ns) / static_cast<double>(reading.time_enabled_ns);
  return std::clamp(share, 0.0, 1.0);
}

ScaledCount scale(const RawReading& reading, std::size_t index) {
  ScaledCount count;
  count.coverage = coverage(reading);
  if (!count.coverage || reading.time_running_ns == 0 || index >= reading.values.size())
    return count;
  const auto raw = static_cast<double>(reading.values[index]);
  if (*count.coverage >= 1) {
    count.status = CountStatus::kOk;
    count.value = raw;
  } else {
    count.status = CountStatus::kScaled;
    // Divided by the times themselves: the coverage is rounded already.
    count.value = raw * static_cast<double>(reading.time_enabled_ns) /
                  static_cast<double>(reading.time_running_ns);
  }
  return count;
}

}  // namespace hwprof
