#include "src/cli/values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

// The whole text or nothing.
template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || stop != end || error != std::errc{}) return std::nullopt;
  return value;
}

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr Unit kUnits[] = {{"ms", 1e-3}, {"min", 60}, {"s", 1}};

}  // namespace

Result<std::vector<std::string>> parse_list(std::string_view option, std::string_view text) {
  return split(option, text, false);
}

Result<std::vector<std::string>> parse_events(std::string_view option, std::string_view text) {
  return split(option, text, true);
}

Result<std::uint64_t> parse_whole(std::string_view option, std::string_view text,
                                  std::uint64_t least, std::uint64_t most) {
  const auto value = number<std::uint64_t>(text);
  if (!value || *value < least || *value > most) {
    return usage_error(
        fmt::format("{} takes a whole number from {} to {}, not '{}'", option, least, most, text));
  }
  return *value;
}

Result<double> parse_seconds(std::string_view option, std::string_view text, double most) {
  double unit = 1;
  std::string_view digits = text;
  for (const Unit& known : kUnits) {
    if (!digits.ends_with(known.name)) continue;
    digits.remove_suffix(known.name.size());
    unit = known.seconds;
    break;
  }
  const double value = number<double>(digits).value_or(0) * unit;
  // Written so that NaN fails, too.
  if (!(value > 0 && value <= most)) {
    return usage_error(
        fmt::format("{} takes seconds above 0 and up to {}, not '{}'", option, most, text),
        "write 0.5, 500ms or 2min");
  }
  return value;
}

Result<double> parse_share(std::string_view option, std::string_view text) {
  const bool percent = text.ends_with('%');
  auto value = number<double>(text.substr(0, text.size() - (percent ? 1 : 0)));
  if (value && (percent || *value > 1)) *value /= 100;
  // Written so that NaN fails, too.
  if (!value || !(*value >= 0 && *value <= 1)) {
    return usage_error(
        fmt::format("{} takes a share of the time from 0% to 100%, not '{}'", option, text),
        "write 5% or 0.05");
  }
  return *value;
}

tl::unexpected<Error> not_a_choice(std::string_view option, std::string_view text,
                                   std::span<const std::string_view> names) {
  return usage_error(fmt::format("{} takes {}, not '{}'", option, fmt::join(names, ", "), text),
                     did_you_mean(nearest(text, names)));
}

Result<std::string> any_text(std::string_view, std::string_view text) { return std::string(text); }

Result<CpuList> cpu_list(std::string_view, std::string_view text) { return parse_cpu_list(text); }

Result<std::string> file_ending_in(std::string_view option, std::string_view text,
                                   std::span<const std::string_view> endings) {
  const bool fits = std::any_of(endings.begin(), endings.end(),
                                [text](std::string_view ending) { return text.ends_with(ending); });
  if (fits) return std::string(text);
  return usage_error(fmt::format("{} takes a file that ends in {}, not '{}'", option,
                                 fmt::join(endings, " or "), text));
}

}  // namespace hwprof::cli
