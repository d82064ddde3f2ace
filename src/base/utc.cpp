#include "src/base/utc.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "src/base/text.h"

namespace hwprof {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// As `form` has it, where '0' is any digit; takes it off the front of `text`.
bool takes(std::string_view& text, std::string_view form) {
  const bool fits = text.size() >= form.size() &&
                    std::equal(form.begin(), form.end(), text.begin(), [](char wanted, char c) {
                      return wanted == '0' ? is_digit(c) : c == wanted;
                    });
  if (fits) text.remove_prefix(form.size());
  return fits;
}

// Digits at a place that `takes` has looked at.
unsigned number_at(std::string_view text, std::size_t at, std::size_t digits = 2) {
  return static_cast<unsigned>(parse_unsigned(text.substr(at, digits)).value_or(0));
}

// ".25", or nothing; what is below a microsecond is left out.
std::optional<std::chrono::microseconds> take_fraction(std::string_view& text) {
  std::chrono::microseconds fraction{0};
  if (!text.starts_with('.')) return fraction;
  text.remove_prefix(1);
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  for (int unit = 100'000; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
    fraction += std::chrono::microseconds(unit * (text.front() - '0'));
    unit /= 10;
  }
  return fraction;
}

// "Z", "+01:00", "+0100": what the clock there is ahead of UTC.
std::optional<std::chrono::minutes> offset_in(std::string_view text) {
  if (text == "Z") return std::chrono::minutes(0);
  if (text.empty() || (text.front() != '+' && text.front() != '-')) return std::nullopt;
  const int sign = text.front() == '-' ? -1 : 1;
  std::string_view rest = text.substr(1);
  if ((!takes(rest, "00:00") && !takes(rest, "0000")) || !rest.empty()) return std::nullopt;
  const unsigned hours = number_at(text, 1), minutes = number_at(text, text.size() - 2);
  if (hours > 23 || minutes > 59) return std::nullopt;
  return sign * (std::chrono::hours(hours) + std::chrono::minutes(minutes));
}

}  // namespace

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::now()));
}

std::optional<UtcTime> utc_time(std::string_view text) {
  std::string_view rest = text;
  if (!takes(rest, "0000-00-00T00:00:00")) return std::nullopt;
  const std::chrono::year_month_day day{std::chrono::year(static_cast<int>(number_at(text, 0, 4))),
                                        std::chrono::month(number_at(text, 5)),
                                        std::chrono::day(number_at(text, 8))};
  const unsigned hour = number_at(text, 11), minute = number_at(text, 14),
                 second = number_at(text, 17);
  // 60: a leap second.
  if (!day.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const auto fraction = take_fraction(rest);
  const auto offset = offset_in(rest);
  if (!fraction || !offset) return std::nullopt;
  return std::chrono::sys_days(day) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second) + *fraction - *offset;
}

std::optional<std::int64_t> unix_seconds(std::string_view text) {
  const auto time = utc_time(text);
  if (!time) return std::nullopt;
  return std::chrono::floor<std::chrono::seconds>(*time).time_since_epoch().count();
}

}  // namespace hwprof
