// Values of options from what was typed: pure functions, each error names the option, the value,
// and what would do. CLI11's own conversions are not used: they say "Could not convert".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"

namespace hwprof::cli {

// "a,b" -> {a, b}, each once. No item may be empty.
Result<std::vector<std::string>> parse_list(std::string_view option, std::string_view text);

// The same for events, whose names may hold commas between slashes: cpu/event=0xc2,umask=0x1/.
Result<std::vector<std::string>> parse_events(std::string_view option, std::string_view text);

// Digits only, in [least, most].
Result<std::uint64_t> parse_whole(std::string_view option, std::string_view text,
                                  std::uint64_t least, std::uint64_t most);

// A finite number above 0 and up to `most`.
Result<double> parse_seconds(std::string_view option, std::string_view text, double most);

// "5%" or "0.05": 0.05. From 0 to 100 %.
Result<double> parse_share(std::string_view option, std::string_view text);

// "a, b, c". (fmt::join at -O3 trips a false -Wstringop-overflow of GCC 12.)
std::string enumerate(std::span<const std::string_view> names);

tl::unexpected<Error> not_a_choice(std::string_view option, std::string_view text,
                                   std::span<const std::string_view> names);

// One of a table of names.
template <class T>
struct Choice {
  std::string_view name;
  T value;
};

template <class T, std::size_t kSize>
Result<T> parse_choice(std::string_view option, std::string_view text,
                       const Choice<T> (&choices)[kSize]) {
  std::vector<std::string_view> names;
  for (const Choice<T>& choice : choices) {
    if (choice.name == text) return choice.value;
    names.push_back(choice.name);
  }
  return not_a_choice(option, text, names);
}

}  // namespace hwprof::cli
