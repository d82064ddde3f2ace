#include "src/cli/value_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cctype>

namespace hwprof::cli {
namespace {

// CLI11 gives an option whatever word follows, were it the next option: `--pin --events flops`.
std::string not_an_option(const std::string& value) {
  const bool option = value.size() > 1 && value[0] == '-' &&
                      (value[1] == '-' || std::isalpha(static_cast<unsigned char>(value[1])) != 0);
  if (!option) return {};
  return fmt::format("a value is missing before '{}' (a file of that name: ./{})", value, value);
}

}  // namespace

void declare_value(CLI::App& app, const char* names, const char* value, const char* group,
                   const char* help, std::vector<std::string>& typed) {
  app.add_option(names, typed, help)
      ->option_text(value)
      ->expected(1)
      ->allow_extra_args(false)
      ->check(not_an_option)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group(group);
}

void declare_flag(CLI::App& app, const char* names, const char* group, const char* help,
                  bool& flag) {
  app.add_flag(names, flag, help)->disable_flag_override()->group(group);
}

std::string long_name(const std::string& names) { return names.substr(names.find("--")); }

Result<std::string> typed_value(const std::string& name, Occurs occurs,
                                const std::vector<std::string>& typed) {
  if (typed.size() > 1 && occurs == Occurs::kOnce) {
    return usage_error(fmt::format("{} is given {} times", name, typed.size()), "give it once");
  }
  std::string joined;
  for (const std::string& value : typed) {
    if (value.empty()) return usage_error(fmt::format("{} has an empty value", name));
    joined += (joined.empty() ? "" : ",") + value;
  }
  return joined;
}

}  // namespace hwprof::cli
