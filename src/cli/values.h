// Values of options from what was typed: pure functions, each error names the option, the value,
// and what would do. CLI11's own conversions are not used: they say "Could not convert". Those that
// end an option's row, as in Options::value(..., whole(1, 8), ...), are at the end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "counters/machine/affinity.h"
#include "src/base/result.h"

namespace hwprof::cli {

// "a,b" -> {a, b}, each once. No item may be empty.
Result<std::vector<std::string>> parse_list(std::string_view option, std::string_view text);

// The same for events, whose names may hold commas between slashes: cpu/event=0xc2,umask=0x1/.
Result<std::vector<std::string>> parse_events(std::string_view option, std::string_view text);

// Digits only, in [least, most].
Result<std::uint64_t> parse_whole(std::string_view option, std::string_view text,
                                  std::uint64_t least, std::uint64_t most);

// "2", "0.5", "1.5s", "200ms", "2min": a finite time above 0 and up to `most` seconds.
Result<double> parse_seconds(std::string_view option, std::string_view text, double most);

// "5%", "5" or "0.05": 0.05. From 0 to 100 %; what is above 1 is in percent.
Result<double> parse_share(std::string_view option, std::string_view text);

tl::unexpected<Error> not_a_choice(std::string_view option, std::string_view text,
                                   std::span<const std::string_view> names);

// One of a table of names.
template <class T>
struct Choice {
  std::string_view name;
  T value;
};

template <class T>
Result<T> parse_choice(std::string_view option, std::string_view text,
                       std::span<const Choice<T>> choices) {
  std::vector<std::string_view> names;
  for (const Choice<T>& choice : choices) {
    if (choice.name == text) return choice.value;
    names.push_back(choice.name);
  }
  return not_a_choice(option, text, names);
}
template <class T, std::size_t kSize>
Result<T> parse_choice(std::string_view option, std::string_view text,
                       const Choice<T> (&choices)[kSize]) {
  return parse_choice(option, text, std::span<const Choice<T>>(choices));
}

// As they are typed.
Result<std::string> any_text(std::string_view option, std::string_view text);
// "0,2-3"
Result<CpuList> cpu_list(std::string_view option, std::string_view text);

inline auto whole(std::uint64_t least, std::uint64_t most) {
  return [=](std::string_view option, std::string_view text) {
    return parse_whole(option, text, least, most);
  };
}

inline auto seconds(double most) {
  return [=](std::string_view option, std::string_view text) {
    return parse_seconds(option, text, most);
  };
}

// `choices` must be static.
template <class T>
struct ChoiceReader {
  std::span<const Choice<T>> choices;

  Result<T> operator()(std::string_view option, std::string_view text) const {
    return parse_choice(option, text, choices);
  }
  [[nodiscard]] std::vector<std::string_view> names() const {
    std::vector<std::string_view> names;
    for (const Choice<T>& choice : choices) names.push_back(choice.name);
    return names;
  }
};
template <class T, std::size_t kSize>
ChoiceReader<T> choice(const Choice<T> (&choices)[kSize]) {
  return {choices};
}

// A path that ends in one of `endings`: ".svg or .html".
Result<std::string> file_ending_in(std::string_view option, std::string_view text,
                                   std::span<const std::string_view> endings);
template <class... Endings>
auto file_in(Endings... endings) {
  return [=](std::string_view option, std::string_view text) {
    const std::string_view all[] = {endings...};
    return file_ending_in(option, text, all);
  };
}

}  // namespace hwprof::cli
