#include "src/commands/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "src/base/suggest.h"
#include "src/commands/profile_workloads.h"

namespace hwprof {
namespace {

struct NamedWorkload {
  std::string_view name;
  Result<int> (*run)(const ProfileOptions& options);
};

// Stands for any file of layers.
constexpr std::string_view kLayerFile = "FILE.json";

// The first is the default.
constexpr NamedWorkload kWorkloads[] = {
    {"textcnn", profile_text_cnn},
    {"resnet20", profile_layers},
    {"mlp", profile_mlp},
    {kLayerFile, profile_layers},
};

// Options that mean something to these workloads only.
struct OwnOption {
  std::string_view option;
  std::vector<std::string_view> workloads;
};

const std::vector<OwnOption>& own_options() {
  static const std::vector<OwnOption> options = {
      {"--docs", {"textcnn"}},
      {"--docs-format", {"textcnn"}},
      {"--embed", {"textcnn"}},
      {"--padding", {"textcnn"}},
      {"--shape", {"textcnn"}},
      {"--loops", {"textcnn"}},
      {"--against", {"resnet20", kLayerFile}},
      {"--images", {"mlp"}},
      {"--labels", {"mlp"}},
      {"--test-images", {"mlp"}},
      {"--test-labels", {"mlp"}},
      {"--epochs", {"mlp"}},
      {"--batch", {"mlp"}},
  };
  return options;
}

// No name of a workload has a dot or a slash; "-" is standard input, as everywhere.
bool is_layer_file(const std::string& workload) {
  return workload == "-" || workload.find_first_of("./") != std::string::npos;
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
  if (options.threads.size() > 1 && workload != kWorkloads[0].name) {
    return usage_error(fmt::format("--threads takes one number for the workload {}", workload),
                       fmt::format("side by side is for {}", kWorkloads[0].name));
  }
  return {};
}

}  // namespace

Result<int> run_profile(const ProfileOptions& options) {
  std::vector<std::string_view> names;
  for (const NamedWorkload& workload : kWorkloads) {
    names.push_back(workload.name);
    const bool file = workload.name == kLayerFile && is_layer_file(options.workload);
    if (workload.name != options.workload && !file) continue;
    if (auto fits = check_own_options(options, workload.name); !fits) return error_of(fits);
    return workload.run(options);
  }
  const std::string near = did_you_mean(nearest(options.workload, std::span(names)));
  return usage_error(fmt::format("unknown workload '{}'", options.workload),
                     near.empty() ? fmt::format("known: {}", fmt::join(names, ", ")) : near);
}

}  // namespace hwprof
