#include "src/commands/fleet/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>

#include "src/base/text.h"
#include "src/base/untrusted_file.h"
#include "src/commands/check/host_facts.h"

namespace hwprof {
namespace {

constexpr std::size_t kMostHosts = 100'000;
constexpr std::size_t kLongestNumber = 9;
// Each host of a range has it: 100,000 of them must fit into memory.
constexpr std::size_t kLongestReason = 200;
constexpr std::uint64_t kLongestList = std::uint64_t{16} << 20U;
constexpr const char* kHowToList = "as in node[01-40],login: names, and ranges in brackets";
// Of Slurm (slurm.schedmd.com/sinfo.html), in which a node runs no job.
constexpr std::string_view kUnavailableStates[] = {
    "down",       "drain",       "drained", "draining",  "error",        "fail",
    "failing",    "future",      "inval",   "maint",     "powered_down", "powering_down",
    "power_down", "powering_up", "reboot",  "rebooting", "unknown"};

std::string shortened(std::string_view text) {
  return text.size() <= kLongestReason ? std::string(text)
                                       : std::string(text.substr(0, kLongestReason)) + "...";
}

tl::unexpected<Error> wrong_list(std::string_view item, std::string_view why) {
  return usage_error(fmt::format("'{}' is no list of hosts: {}", item, why), kHowToList);
}

bool is_host(std::string_view name) {
  return !name.empty() && name.size() <= kLongestHost &&
         std::isalnum(static_cast<unsigned char>(name.front())) != 0 &&
         std::all_of(name.begin(), name.end(), [](char letter) {
           return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.' ||
                  letter == '_' || letter == '-';
         });
}

// At commas outside of brackets.
Result<std::vector<std::string_view>> items_of(std::string_view text) {
  std::vector<std::string_view> items;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == ']') {
      if (inside == (text[i] == '['))
        return wrong_list(text, inside ? "a bracket within brackets" : "']' without a '['");
      inside = !inside;
    }
    if (text[i] != ',' || inside) continue;
    items.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  if (inside) return wrong_list(text, "']' is missing");
  items.push_back(text.substr(begin));
  return items;
}

struct Range {
  std::uint64_t first = 0, last = 0;
  std::size_t width = 0;
};

Result<Range> range_in(std::string_view item, std::string_view part) {
  const std::size_t dash = part.find('-');
  const std::string_view first = part.substr(0, dash);
  const std::string_view last = dash == std::string_view::npos ? first : part.substr(dash + 1);
  Range range{.width = first.size()};
  for (const auto& [text, to] : {std::pair(first, &range.first), std::pair(last, &range.last)}) {
    const auto number = text.size() <= kLongestNumber ? parse_unsigned(text) : std::nullopt;
    const bool digits = std::all_of(text.begin(), text.end(), [](char letter) {
      return std::isdigit(static_cast<unsigned char>(letter)) != 0;
    });
    if (!number || !digits)
      return wrong_list(item, fmt::format("'{}' is no range of numbers", part));
    *to = *number;
  }
  if (range.last < range.first)
    return wrong_list(item, fmt::format("the range {} ends before it begins", part));
  if (first.size() > 1 && first.front() == '0' && last.size() < first.size())
    return wrong_list(item, fmt::format("the numbers of {} are not of one width", part));
  return range;
}

// Each of `names` with what the brackets at the front of `rest` make of it, and so on.
Result<std::vector<std::string>> expanded(std::string_view item, std::string_view rest,
                                          std::vector<std::string> names) {
  const std::size_t open = rest.find('[');
  // Before there are 100,000 of it.
  if (names.front().size() + rest.substr(0, open).size() > kLongestHost)
    return wrong_list(shortened(item), fmt::format("longer than {} characters", kLongestHost));
  for (std::string& name : names) name += rest.substr(0, open);
  if (open == std::string_view::npos) return names;
  const std::size_t close = rest.find(']');
  std::vector<std::string> more;
  for (const std::string_view part : split(rest.substr(open + 1, close - open - 1), ',')) {
    TRY(const Range range, range_in(item, part));
    if ((range.last - range.first + 1) * names.size() + more.size() > kMostHosts)
      return wrong_list(item, fmt::format("more than {} hosts", kMostHosts));
    for (const std::string& name : names) {
      for (std::uint64_t i = range.first; i <= range.last; ++i)
        more.push_back(fmt::format("{}{:0{}}", name, i, range.width));
    }
  }
  return expanded(item, rest.substr(close + 1), std::move(more));
}

Result<std::vector<std::string>> names_in(std::string_view text) {
  TRY(const auto items, items_of(text));
  std::vector<std::string> all;
  for (const std::string_view item : items) {
    TRY(std::vector<std::string> names, expanded(item, item, {""}));
    for (std::string& name : names) {
      if (!is_host(name)) return wrong_list(text, fmt::format("'{}' is no name of a host", name));
      all.push_back(std::move(name));
    }
    if (all.size() > kMostHosts)
      return wrong_list(text, fmt::format("more than {} hosts", kMostHosts));
  }
  return all;
}

// "down*" of a node that does not answer: a state has signs behind it.
std::string why_unavailable(std::string_view state, std::string_view reason) {
  const std::string text = lower(shortened(trim(state)));
  const std::string word = text.substr(0, text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"));
  const bool silent = text.find('*') != std::string::npos;
  const bool known = std::find(std::begin(kUnavailableStates), std::end(kUnavailableStates),
                               word) != std::end(kUnavailableStates);
  if (!known && !silent) return {};
  const std::string why = shortened(trim(reason));
  if (!why.empty() && lower(why) != "none") return text + ": " + why;
  return silent ? text + ": it does not answer" : text;
}

}  // namespace

Result<std::vector<ExpectedHost>> parse_host_ranges(std::string_view text) {
  TRY(std::vector<std::string> names, names_in(text));
  std::vector<ExpectedHost> hosts;
  for (std::string& name : names) hosts.push_back({std::move(name)});
  std::vector<std::string> sorted;
  for (const ExpectedHost& host : hosts) sorted.push_back(lower(host.name));
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    return usage_error(fmt::format("{} stands twice in '{}'", *twice, text),
                       "each host once, else it would be counted twice");
  return hosts;
}

Result<std::vector<ExpectedHost>> parse_host_lines(std::string_view file, std::string_view text) {
  std::vector<ExpectedHost> hosts;
  std::map<std::string, std::size_t> seen;  // host -> line
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::size_t bar = line.find('|');
    const std::size_t second = bar == std::string_view::npos ? bar : line.find('|', bar + 1);
    const std::string why =
        bar == std::string_view::npos
            ? ""
            : why_unavailable(
                  line.substr(bar + 1,
                              second == std::string_view::npos ? second : second - bar - 1),
                  second == std::string_view::npos ? "" : line.substr(second + 1));
    auto names = names_in(trim(line.substr(0, bar)));
    if (!names) {
      return usage_error(fmt::format("{}, line {}: {}", file, number, names.error().what),
                         kHowToList);
    }
    for (std::string& name : *names) {
      const auto [at, is_new] = seen.emplace(lower(name), number);
      if (!is_new) {
        return usage_error(
            fmt::format("{}: {} stands in line {} and in line {}", file, name, at->second, number),
            "each host once, else it would be counted twice; sort -u helps");
      }
      hosts.push_back({std::move(name), why});
    }
    if (hosts.size() > kMostHosts)
      return usage_error(fmt::format("{} has more than {} hosts", file, kMostHosts));
  }
  if (hosts.empty()) return usage_error(fmt::format("{} names no host", file), kHowToList);
  return hosts;
}

Result<std::vector<ExpectedHost>> expected_hosts(const std::string& named) {
  const auto text = read_untrusted(named, {.follow_link = true, .most_bytes = kLongestList});
  if (text) return parse_host_lines(named, *text);
  if (named.find_first_of("[,") != std::string::npos) return parse_host_ranges(named);
  return usage_error(text.error().what,
                     "--expected takes a file with a host a line, or ranges: node[01-40],login");
}

}  // namespace hwprof
