// Numbers as people read them: the unit is always there, and no more digits than are known. Pure
// functions; the writers that machines read (JSON, CSV) print full precision instead.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hwprof::report {

// What stands where a number is absent, and where one is not finite.
inline constexpr std::string_view kAbsent = "-";

// `digits` significant digits without an exponent: 0.0123, 1.23, 265, 12300.
std::string significant(double value, int digits);

// Powers of 1000: 1.23e10, "FLOP/s" -> "12.3 GFLOP/s"; an empty unit gives "12.3 G".
std::string si(double value, std::string_view unit);

// 1.234e6 -> "1.23 ms".
std::string duration(double ns);

// Powers of 1024: "512 B", "48 KiB", "15.6 GiB".
std::string binary_bytes(double bytes);

// 0.621 -> "62.1 %".
std::string percent(double fraction);

// "62.1 ±0.4": half the interval is rounded up to one digit (two where it starts with 1 or 2),
// the value gets as many decimals. An asymmetric interval shows its longer side.
std::string with_interval(double value, double low, double high);

// The same for a time, in the unit that fits it: "1.834 ±0.016 ms".
std::string duration_with_interval(double ns, double low_ns, double high_ns);

// "1.43 (1.3 to 1.55)"
std::string with_bounds(double value, double low, double high);

// "3.1e-07"; nothing to shorten in "0".
std::string scientific(double value);

// "1 CPU", "2 CPUs"
std::string counted(std::uint64_t count, std::string_view noun);

}  // namespace hwprof::report
