#include "src/blas/ladder/plan.h"

#include <fmt/format.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "src/blas/evidence/installed.h"

namespace hwprof::blas {
namespace {

// The own OpenBLAS may need libraries that stand beside it alone.
void add_to_loader_path(const std::string& folder, std::vector<std::string>& environment) {
  const std::string begin = fmt::format("{}=", kLoaderPath);
  for (std::string& entry : environment) {
    if (entry.starts_with(begin)) {
      entry += ":" + folder;
      return;
    }
  }
  environment.push_back(begin + folder);
}

// A build for several CPUs exports one table a core type.
std::vector<Attempt> openblas_cores(const BlasLibrary& library, const Machine& machine) {
  std::vector<Attempt> attempts;
  for (const CoreType& core : facts(Provider::kOpenBlas).cores) {
    if (library.symbol(core.symbol) == nullptr || !can_run(core, machine.isa)) continue;
    attempts.push_back(openblas_core(library.path(), core));
  }
  return attempts;
}

// BLIS takes a number, which differs between versions: only the library itself can say whose it
// is. Architectures that it was not built with abort; their rung says so.
std::vector<Attempt> blis_cores(const BlasLibrary& library, const Machine& machine) {
  const std::vector<std::string> known = blis_architectures(library);
  std::vector<Attempt> attempts;
  for (const CoreType& core : facts(Provider::kBlis).cores) {
    const auto at = std::find(known.begin(), known.end(), core.name);
    if (at == known.end() || !can_run(core, machine.isa)) continue;
    attempts.push_back({fmt::format("BLIS_ARCH_TYPE={}", at - known.begin()), library.path(),
                        Provider::kBlis, core.name, false});
  }
  return attempts;
}

}  // namespace

Plan plan_rungs(const BlasLibrary& library, const Identity& identity,
                const std::vector<report::InstalledBlas>& installed, const Machine& machine,
                const LadderOptions& options) {
  Plan plan;
  plan.deciding.push_back({"as found", library.path(), identity.provider, "", true});
  if (environment_shapes(identity)) {
    plan.deciding.push_back({"auto", library.path(), identity.provider, "", false});
  }
  std::vector<Attempt> cores;
  if (identity.provider == Provider::kOpenBlas) cores = openblas_cores(library, machine);
  if (identity.provider == Provider::kBlis) cores = blis_cores(library, machine);
  const int widest = rank(widest_vector_class(machine.isa));
  for (Attempt& core : cores) {
    // The core of the environment is compared with itself in a clean one.
    const bool decides = same_name(core.core, identity.core) ||
                         rank(vector_class_of(core.provider, core.core)) >= widest;
    (decides ? plan.deciding : plan.rest).push_back(std::move(core));
  }
  for (const report::InstalledBlas& other : installed) {
    if (other.path == library.path() || other.path == identity.kernels) continue;
    plan.deciding.push_back({"auto", other.path, other.provider, "", false});
  }
  if (!options.own.path.empty() && options.own.path != identity.kernels) {
    plan.deciding.push_back(own_attempt(options.own));
  }
  return plan;
}

bool environment_shapes(const Identity& identity) {
  const auto set = blas_environment();
  return std::any_of(set.begin(), set.end(), [&](const auto& variable) {
    return reads(identity.provider, variable.first) && !counts_threads(variable.first) &&
           !identity.ignores(variable.first);
  });
}

Attempt own_attempt(const OwnOpenBlas& own) {
  return {.setting = "auto", .library = own.path, .provider = Provider::kOpenBlas, .own = true};
}

Attempt openblas_core(const std::string& library, const CoreType& core) {
  return {fmt::format("{}={}", facts(Provider::kOpenBlas).core_variable, core.name), library,
          Provider::kOpenBlas, core.name};
}

bool offers(const LibraryFile& file, const CoreType& core) {
  return std::any_of(file.core_tables.begin(), file.core_tables.end(),
                     [&](const auto& table) { return same_name(table.second, core.name); });
}

bool same_name(const std::string& a, const std::string& b) {
  return ::strcasecmp(a.c_str(), b.c_str()) == 0;
}

std::string label(const Attempt& attempt) {
  const std::string core = attempt.core.empty()
                               ? fmt::format("{} ({})", attempt.library, attempt.setting)
                               : attempt.core;
  return attempt.own ? "hwprof's own " + core : core;
}

std::vector<std::string> environment_with(bool blas_variables) {
  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text(*entry);
    if (blas_variables || !shapes_blas(text.substr(0, text.find('=')))) {
      environment.push_back(text);
    }
  }
  return environment;
}

std::vector<std::string> environment_for(const Attempt& attempt, const OwnOpenBlas& own) {
  std::vector<std::string> environment = environment_with(attempt.as_found);
  if (attempt.setting.find('=') != std::string::npos) environment.push_back(attempt.setting);
  if (attempt.own) add_to_loader_path(own.folder, environment);
  return environment;
}

}  // namespace hwprof::blas
