#include "src/blas/judge/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "src/blas/evidence/installed.h"
#include "src/blas/judge/words.h"

namespace hwprof::blas {
namespace {

using report::InstalledBlas;
using report::LadderRung;

// An alternative that is selected, below a variable.
std::string select(const InstalledBlas& library, const Evidence& evidence) {
  const std::string variable = deciding_variable(evidence);
  const std::string unset = variable.empty() ? "" : "unset " + variable;
  if (library.selected && !unset.empty()) return unset;
  return (unset.empty() ? "" : unset + "; ") + "sudo " + library.select;
}

// A program that names its library itself gets no other by what the system selects.
bool is_linked_by_name(const Evidence& evidence) {
  if (evidence.linked_in) return true;
  return evidence.at_work && evidence.library.provider == Provider::kUnknown &&
         std::none_of(
             evidence.installed.begin(), evidence.installed.end(),
             [&](const InstalledBlas& library) { return library.path == evidence.library.path; });
}

// `preloaded` and `linked` name the same library, for LD_PRELOAD and for the linker.
std::string replace_by(const std::string& preloaded, const std::string& linked,
                       const Evidence& evidence) {
  if (evidence.linked_in) {
    return fmt::format("link {} anew, with {} in place of the BLAS that is in it",
                       file_label(evidence.library.path), linked);
  }
  const std::string link = fmt::format("link the program with {} in place of {}", linked,
                                       file_label(evidence.library.path));
  return evidence.plain_names
             ? fmt::format("start the program with LD_PRELOAD={}, or {}", preloaded, link)
             : link;
}

std::string install(const Evidence& evidence) {
  if (!is_linked_by_name(evidence)) return install_advice();
  return install_advice() + "; then " + replace_by("libopenblas.so.0", "-lopenblas", evidence);
}

}  // namespace

std::string deciding_variable(const Evidence& evidence) {
  const auto found = std::find_if(
      evidence.installed.begin(), evidence.installed.end(),
      [&](const InstalledBlas& library) { return library.path == evidence.library.path; });
  return found != evidence.installed.end() && found->how.starts_with(kLoaderPath) ? kLoaderPath
                                                                                  : "";
}

std::string how_to_select(const LadderRung& rung, const Evidence& evidence) {
  if (rung.own) return install(evidence);
  if (is_linked_by_name(evidence)) return replace_by(rung.library, rung.library, evidence);
  for (const InstalledBlas& library : evidence.installed) {
    if (library.path == rung.library && !library.select.empty()) return select(library, evidence);
  }
  return "use " + rung.library;
}

std::string how_to_get_openblas(const Evidence& evidence) {
  for (const InstalledBlas& library : evidence.installed) {
    if (library.provider == Provider::kOpenBlas && library.threaded &&
        library.path != evidence.library.path && !library.select.empty()) {
      if (is_linked_by_name(evidence)) return replace_by(library.path, library.path, evidence);
      return select(library, evidence);
    }
  }
  return install(evidence);
}

std::string how_to_get_better(Provider provider, const Evidence& evidence) {
  const std::string better = facts(provider).better;
  return better.empty() ? how_to_get_openblas(evidence) : better;
}

}  // namespace hwprof::blas
