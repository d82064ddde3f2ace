// Options that take a value, as rows of a command's table: what is typed, its help, and how the
// value is judged. CLI11 only finds the words; it knows no option's type.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/base/result.h"

namespace CLI {
class App;
}

namespace hwprof::cli {

enum class Occurs { kOnce, kAddsUp };  // kAddsUp: `--events a --events b` is `--events a,b`

template <class Options>
struct ValueOption {
  const char* names;
  const char* value;  // what stands for the value in the help
  const char* group;
  Occurs occurs;
  Result<void> (*set)(const std::string& name, const std::string& text, Options& to);
  const char* help;
};

// What was typed: every occurrence of each option's value, in the order of the table.
using TypedValues = std::vector<std::vector<std::string>>;

void declare_value(CLI::App& app, const char* names, const char* value, const char* group,
                   const char* help, std::vector<std::string>& typed);
void declare_flag(CLI::App& app, const char* names, const char* group, const char* help,
                  bool& flag);

// The value of an option that was given at least once. Fault::kUsage where it is empty, or given
// twice and must not be.
Result<std::string> typed_value(const std::string& name, Occurs occurs,
                                const std::vector<std::string>& typed);

// "--output" of "-o,--output".
std::string long_name(const std::string& names);

// `typed` must outlive the parsing.
template <class Options>
void declare_values(CLI::App& app, std::span<const ValueOption<Options>> table,
                    TypedValues& typed) {
  typed.resize(table.size());
  for (std::size_t i = 0; i < table.size(); ++i) {
    declare_value(app, table[i].names, table[i].value, table[i].group, table[i].help, typed[i]);
  }
}

template <class Options>
Result<void> set_values(std::span<const ValueOption<Options>> table, const TypedValues& typed,
                        Options& to) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (typed[i].empty()) continue;
    const std::string name = long_name(table[i].names);
    const auto value = typed_value(name, table[i].occurs, typed[i]);
    if (!value) return error_of(value);
    if (auto done = table[i].set(name, *value, to); !done) return error_of(done);
  }
  return {};
}

// Long names of the options that were typed.
template <class Options>
std::vector<std::string> given_names(std::span<const ValueOption<Options>> table,
                                     const TypedValues& typed) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < table.size(); ++i)
    if (!typed[i].empty()) names.push_back(long_name(table[i].names));
  return names;
}

// For `set`: a parsed value on its way into the options.
template <class T, class Member>
Result<void> store(Result<T> value, Member& member) {
  if (!value) return error_of(value);
  member = static_cast<Member>(std::move(*value));
  return {};
}

}  // namespace hwprof::cli
