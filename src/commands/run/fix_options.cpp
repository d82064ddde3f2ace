#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "src/base/text.h"
#include "src/blas/judge/trial.h"
#include "src/cli/groups.h"
#include "src/cli/values.h"
#include "src/commands/run/fix.h"
#include "src/measure/paired.h"

namespace hwprof {
namespace {

constexpr std::size_t kMostSettings = 16;  // of more, forty rounds tell nothing apart

bool is_variable_name(std::string_view name) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::all_of(name.begin(), name.end(), fits);
}

}  // namespace

Result<std::vector<std::vector<std::string>>> parse_settings(const std::string& option,
                                                             const std::string& text) {
  std::vector<std::vector<std::string>> settings;
  std::string name;
  for (const std::string_view part : split(text, ',')) {
    std::string_view value = part;
    const std::size_t equals = part.find('=');
    if (equals != std::string_view::npos && is_variable_name(part.substr(0, equals))) {
      name = part.substr(0, equals);
      value = part.substr(equals + 1);
    }
    if (name.empty())
      return usage_error(fmt::format("{}: '{}' is no variable with values", option, part),
                         "as in OMP_NUM_THREADS=1,2; an empty value unsets it");
    const std::vector<std::string> setting{value.empty() ? name
                                                         : fmt::format("{}={}", name, value)};
    if (std::find(settings.begin(), settings.end(), setting) == settings.end())
      settings.push_back(setting);
  }
  if (settings.size() > kMostSettings)
    return usage_error(
        fmt::format("{}: {} settings are more than can be told apart", option, settings.size()),
        fmt::format("give at most {}", kMostSettings));
  return settings;
}

void declare_fix(cli::Options& options, FixRequest& to) {
  options.group(cli::kBudget);
  const auto verdict = options.flag(
      "--try-fix", to.verdict,
      "Run the command again, as it is and with the fix that the verdict names, interleaved: is it "
      "faster, does its output stay the same? Default: do not.");
  const auto settings =
      options
          .value("--try", "VAR=A,B", to.settings, parse_settings,
                 "The same with each of these values of an environment variable; an empty one "
                 "unsets it. Default: none.")
          .adds_up()
          .excludes(verdict);
  const auto budget = options.value(
      "--budget", "S", to.budget_s, cli::seconds(cli::kMaxSeconds),
      "End the rounds of --try-fix or --try after S seconds. Default: after 9 to 40 rounds.");
  options.check([verdict, settings, budget]() -> Result<void> {
    if (!budget.given() || verdict.given() || settings.given()) return {};
    return usage_error("--budget needs --try-fix or --try", "hwprof run --help");
  });
}

unsigned most_runs(const FixRequest& request) {
  if (!request.wanted()) return 0;
  const std::size_t sides = 1 + std::max<std::size_t>(1, request.settings.size());
  return static_cast<unsigned>(*std::prev(std::end(kLooks)) * sides);
}

std::vector<std::string> variables_of(const FixRequest& request) {
  std::vector<std::string> names;
  if (request.verdict) names = blas::shaping_variables();
  for (const auto& setting : request.settings)
    for (const std::string& change : setting) names.push_back(change.substr(0, change.find('=')));
  return names;
}

}  // namespace hwprof
