#include "src/blas/judge/advice.h"

#include <algorithm>
#include <string_view>

namespace hwprof::blas {
namespace {

using report::InstalledBlas;
using report::LadderRung;

constexpr std::string_view kLoaderVariable = "LD_LIBRARY_PATH";

// An alternative that is selected, below a variable.
std::string select(const InstalledBlas& library, const Evidence& evidence) {
  const std::string variable = deciding_variable(evidence);
  const std::string unset = variable.empty() ? "" : "unset " + variable;
  if (library.selected && !unset.empty()) return unset;
  return (unset.empty() ? "" : unset + "; ") + "sudo " + library.select;
}

}  // namespace

std::string deciding_variable(const Evidence& evidence) {
  const auto found = std::find_if(
      evidence.installed.begin(), evidence.installed.end(),
      [&](const InstalledBlas& library) { return library.path == evidence.library.path; });
  return found != evidence.installed.end() && found->how.starts_with(kLoaderVariable)
             ? std::string(kLoaderVariable)
             : "";
}

std::string how_to_select(const LadderRung& rung, const Evidence& evidence) {
  if (rung.own) return install_advice();
  for (const InstalledBlas& library : evidence.installed) {
    if (library.path == rung.library && !library.select.empty()) return select(library, evidence);
  }
  return "use " + rung.library;
}

std::string how_to_get_openblas(const Evidence& evidence) {
  for (const InstalledBlas& library : evidence.installed) {
    if (library.provider == Provider::kOpenBlas && library.threaded &&
        library.path != evidence.library.path && !library.select.empty()) {
      return select(library, evidence);
    }
  }
  return install_advice();
}

std::string how_to_get_better(Provider provider, const Evidence& evidence) {
  const std::string better = facts(provider).better;
  return better.empty() ? how_to_get_openblas(evidence) : better;
}

}  // namespace hwprof::blas
