#include "src/cli/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "src/base/suggest.h"

namespace hwprof::cli {
namespace {

// Splits at the commas; where `slashes` is set, not at those between two slashes.
Result<std::vector<std::string>> split(std::string_view option, std::string_view text,
                                       bool slashes) {
  std::vector<std::string> items;
  std::size_t start = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && slashes && text[i] == '/') inside = !inside;
    if (i < text.size() && (text[i] != ',' || inside)) continue;
    const std::string_view item = text.substr(start, i - start);
    if (inside) {
      return usage_error(fmt::format("{}: '{}' has no second slash", option, item),
                         "write cpu/event=0xc2,umask=0x1/");
    }
    if (item.find_first_not_of(' ') == std::string_view::npos) {
      return usage_error(fmt::format("{}: '{}' has an empty name in it", option, text),
                         "separate names with single commas");
    }
    if (std::find(items.begin(), items.end(), item) == items.end()) items.emplace_back(item);
    start = i + 1;
  }
  return items;
}

}  // namespace

Result<std::vector<std::string>> parse_list(std::string_view option, std::string_view text) {
  return split(option, text, false);
}

Result<std::vector<std::string>> parse_events(std::string_view option, std::string_view text) {
  return split(option, text, true);
}

Result<std::uint64_t> parse_whole(std::string_view option, std::string_view text,
                                  std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || stop != end || error != std::errc{} || value < least || value > most) {
    return usage_error(
        fmt::format("{} takes a whole number from {} to {}, not '{}'", option, least, most, text));
  }
  return value;
}

Result<double> parse_seconds(std::string_view option, std::string_view text, double most) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  // Written so that NaN fails, too.
  if (text.empty() || stop != end || error != std::errc{} || !(value > 0 && value <= most)) {
    return usage_error(
        fmt::format("{} takes seconds above 0 and up to {}, not '{}'", option, most, text));
  }
  return value;
}

Result<double> parse_share(std::string_view option, std::string_view text) {
  const bool percent = !text.empty() && text.back() == '%';
  const std::string_view digits = text.substr(0, text.size() - (percent ? 1 : 0));
  double value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (percent) value /= 100;
  // Written so that NaN fails, too.
  if (digits.empty() || stop != end || error != std::errc{} || !(value >= 0 && value <= 1)) {
    return usage_error(
        fmt::format("{} takes a share of the time from 0% to 100%, not '{}'", option, text),
        "write 5% or 0.05");
  }
  return value;
}

std::string enumerate(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

tl::unexpected<Error> not_a_choice(std::string_view option, std::string_view text,
                                   std::span<const std::string_view> names) {
  return usage_error(fmt::format("{} takes {}, not '{}'", option, enumerate(names), text),
                     did_you_mean(nearest(text, names)));
}

}  // namespace hwprof::cli
