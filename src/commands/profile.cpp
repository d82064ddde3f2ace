#include "src/commands/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "counters/suggest.h"
#include "src/commands/profile_workloads.h"

namespace hwprof {
namespace {

struct NamedWorkload {
  std::string_view name;
  Result<int> (*run)(const ProfileOptions& options);
};

// The first is the default.
constexpr NamedWorkload kWorkloads[] = {
    {"textcnn", profile_text_cnn},
    {"mlp", profile_mlp},
};

// Options that mean something to these workloads only.
struct OwnOption {
  std::string_view option;
  std::vector<std::string_view> workloads;
};

const std::vector<OwnOption>& own_options() {
  static const std::vector<OwnOption> options = {
      {"--docs", {"textcnn"}},    {"--docs-format", {"textcnn"}}, {"--embed", {"textcnn"}},
      {"--images", {"mlp"}},      {"--labels", {"mlp"}},          {"--test-images", {"mlp"}},
      {"--test-labels", {"mlp"}}, {"--epochs", {"mlp"}},          {"--batch", {"mlp"}},
      {"--padding", {"textcnn"}}, {"--shape", {"textcnn"}},
  };
  return options;
}

Result<void> check_own_options(const ProfileOptions& options, std::string_view workload) {
  for (const OwnOption& own : own_options()) {
    const bool given =
        std::find(options.given.begin(), options.given.end(), own.option) != options.given.end();
    const bool meant =
        std::find(own.workloads.begin(), own.workloads.end(), workload) != own.workloads.end();
    if (!given || meant) continue;
    return usage_error(fmt::format("{} means nothing to the workload {}", own.option, workload),
                       fmt::format("it is for {}", fmt::join(own.workloads, ", ")));
  }
  return {};
}

}  // namespace

Result<int> run_profile(const ProfileOptions& options) {
  std::vector<std::string_view> names;
  for (const NamedWorkload& workload : kWorkloads) {
    names.push_back(workload.name);
    if (workload.name != options.workload) continue;
    if (auto fits = check_own_options(options, workload.name); !fits) return error_of(fits);
    return workload.run(options);
  }
  const std::string near = did_you_mean(nearest(options.workload, std::span(names)));
  return usage_error(fmt::format("unknown workload '{}'", options.workload),
                     near.empty() ? fmt::format("known: {}", fmt::join(names, ", ")) : near);
}

}  // namespace hwprof
