#include "src/base/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace hwprof::report {
namespace {

// Power of ten of `value` after it is rounded to `digits` digits: 9.996 has 1 with three of them.
int exponent_of(double value, int digits) {
  if (value == 0) return 0;
  const std::string text = fmt::format("{:.{}e}", std::abs(value), digits - 1);
  return std::atoi(text.c_str() + text.find('e') + 1);
}

struct Scaled {
  double factor;  // the printed number is value / factor
  std::string_view prefix;
};

constexpr std::array<Scaled, 6> kPowersOf1000 = {
    {{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}, {1e15, "P"}}};
constexpr std::array<Scaled, 4> kTimeUnits = {{{1, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}}};

// The step of the table in which three digits of `value` read 1 to 999.
template <std::size_t N>
Scaled fit(const std::array<Scaled, N>& table, double value) {
  const int step = exponent_of(value, 3) / 3;
  return table[static_cast<std::size_t>(std::clamp(step, 0, static_cast<int>(N) - 1))];
}

constexpr int kMostDigits = 5;  // of a value with an interval, however narrow that is

// Decimals that an interval of half-width `half` justifies.
int decimals_for(double value, double half) {
  const int most = std::max(0, kMostDigits - 1 - exponent_of(value, kMostDigits));
  if (half <= 0) return std::min(most, 3);
  const int exponent = exponent_of(half, 2);
  const int lead = static_cast<int>(half / std::pow(10.0, exponent));
  const int digits = lead <= 2 ? 2 : 1;
  return std::clamp(digits - 1 - exponent, 0, most);
}

// Rounds up, so that no interval looks narrower than it is. The tolerance keeps 0.4 from
// becoming 0.5 only because 0.4 has no exact binary form.
double round_up(double value, int decimals) {
  const double scale = std::pow(10.0, decimals);
  return std::ceil(value * scale * (1 - 1e-9)) / scale;
}

}  // namespace

std::string significant(double value, int digits) {
  if (!std::isfinite(value)) return std::string(kAbsent);
  return fmt::format("{:.{}f}", value, std::max(0, digits - 1 - exponent_of(value, digits)));
}

std::string si(double value, std::string_view unit) {
  if (!std::isfinite(value)) return std::string(kAbsent);
  const Scaled scale = fit(kPowersOf1000, value);
  const bool whole = scale.factor == 1 && value == std::floor(value);
  std::string text = whole ? fmt::format("{:.0f}", value) : significant(value / scale.factor, 3);
  if (scale.prefix.empty() && unit.empty()) return text;
  return fmt::format("{} {}{}", text, scale.prefix, unit);
}

std::string duration(double ns) {
  if (!std::isfinite(ns)) return std::string(kAbsent);
  const Scaled unit = fit(kTimeUnits, ns);
  return fmt::format("{} {}", significant(ns / unit.factor, 3), unit.prefix);
}

std::string binary_bytes(double bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  if (!std::isfinite(bytes)) return std::string(kAbsent);
  std::size_t step = 0;
  while (bytes >= 1024 && step + 1 < kUnits.size()) {
    bytes /= 1024;
    ++step;
  }
  const bool whole = bytes == std::floor(bytes);
  return fmt::format("{} {}", whole ? fmt::format("{:.0f}", bytes) : significant(bytes, 3),
                     kUnits[step]);
}

std::string percent(double fraction) {
  if (!std::isfinite(fraction)) return std::string(kAbsent);
  return fmt::format("{} %", significant(fraction * 100, 3));
}

std::string with_interval(double value, double low, double high) {
  if (!std::isfinite(value)) return std::string(kAbsent);
  if (!std::isfinite(low) || !std::isfinite(high)) return significant(value, 3);
  const double half = std::max({high - value, value - low, 0.0});
  const int decimals = decimals_for(value, half);
  return fmt::format("{:.{}f} ±{:.{}f}", value, decimals, round_up(half, decimals), decimals);
}

std::string duration_with_interval(double ns, double low_ns, double high_ns) {
  if (!std::isfinite(ns)) return std::string(kAbsent);
  const Scaled unit = fit(kTimeUnits, ns);
  return fmt::format("{} {}",
                     with_interval(ns / unit.factor, low_ns / unit.factor, high_ns / unit.factor),
                     unit.prefix);
}

std::string with_bounds(double value, double low, double high) {
  return fmt::format("{} ({} to {})", significant(value, 3), significant(low, 3),
                     significant(high, 3));
}

std::string scientific(double value) {
  if (value == 0) return "0";
  return std::isfinite(value) ? fmt::format("{:.1e}", value) : std::string(kAbsent);
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace hwprof::report
