#include "src/observe/calls/probe_budget.h"

#include <utility>

#include "src/base/text.h"

namespace hwprof::observe {

bool return_probes_are_safe(std::string_view release) {
#if defined(__x86_64__)
  const auto dot = release.find('.');
  if (dot == std::string_view::npos) return false;
  const auto rest = release.substr(dot + 1);
  const auto major = parse_unsigned(release.substr(0, dot));
  const auto minor = parse_unsigned(rest.substr(0, rest.find_first_not_of("0123456789")));
  if (!major || !minor) return false;
  const std::pair version(*major, *minor);
  using Version = std::pair<std::uint64_t, std::uint64_t>;
  return version < Version(6, 11) || version >= Version(6, 14);
#else
  return !release.empty();
#endif
}

bool timing_costs_too_much(std::uint64_t returns, std::chrono::nanoseconds elapsed) {
  constexpr double kFree = 10'000, kEachSecond = 5'000;
  return static_cast<double>(returns) >
         kFree + kEachSecond * std::chrono::duration<double>(elapsed).count();
}

bool recording_costs_too_much(std::uint64_t calls, std::chrono::nanoseconds elapsed) {
  constexpr double kFree = 20'000, kEachSecond = 5'000;
  return static_cast<double>(calls) >
         kFree + kEachSecond * std::chrono::duration<double>(elapsed).count();
}

}  // namespace hwprof::observe
