#include "src/blas/judge/trial.h"

#include <algorithm>

#include "src/base/text.h"
#include "src/blas/evidence/installed.h"
#include "src/blas/providers/providers.h"

namespace hwprof::blas {
namespace {

constexpr std::string_view kExport = "export ", kUnset = "unset ";
constexpr std::string_view kSelect = "update-alternatives --set ";

std::string_view name_of_change(std::string_view change) {
  return change.substr(0, change.find('='));
}

// The last word about a variable holds.
void add(std::vector<std::string>& changes, std::string change) {
  std::erase_if(changes, [&](const std::string& one) {
    return name_of_change(one) == name_of_change(change);
  });
  changes.push_back(std::move(change));
}

std::vector<std::string_view> parts_of(std::string_view fix) {
  std::vector<std::string_view> parts;
  while (!fix.empty()) {
    const std::size_t end = std::min(fix.find("; "), fix.size());
    parts.push_back(fix.substr(0, end));
    fix.remove_prefix(std::min(end + 2, fix.size()));
  }
  return parts;
}

std::vector<std::string> read_part(std::string_view part) {
  std::vector<std::string> changes;
  if (part.starts_with(kUnset)) {
    for (const std::string_view name : split(part.substr(kUnset.size()), ' '))
      if (!name.empty()) changes.emplace_back(name);
    return changes;
  }
  if (part.starts_with(kExport)) {
    const std::string_view change = part.substr(kExport.size());
    return {std::string(change.substr(0, change.find(',')))};
  }
  // "sudo update-alternatives --set libblas.so.3-x86_64-linux-gnu /usr/lib/.../libblas.so.3": the
  // folder of that file has it under the name that programs ask for.
  if (part.find(kSelect) == std::string_view::npos) return changes;
  const std::string_view file = part.substr(part.rfind(' ') + 1);
  const std::size_t slash = file.rfind('/');
  if (file.starts_with('/') && slash > 0 && file.substr(slash + 1).starts_with("libblas.so"))
    changes.push_back(std::string(kLoaderPath) + "=" + std::string(file.substr(0, slash)));
  return changes;
}

}  // namespace

std::vector<std::string> changes_to_try(std::string_view fix) {
  std::vector<std::string> changes;
  for (const std::string_view part : parts_of(fix))
    for (std::string& change : read_part(part)) add(changes, std::move(change));
  return changes;
}

std::string not_to_try(std::string_view fix) {
  std::string rest;
  for (const std::string_view part : parts_of(fix))
    if (read_part(part).empty()) rest += (rest.empty() ? "" : "; ") + std::string(part);
  return rest;
}

std::vector<std::string> shaping_variables() {
  std::vector<std::string> names{std::string(kLoaderPath), "OMP_", "KMP_", "GOMP_"};
  for (const ProviderFacts& provider : all_providers())
    for (const std::string_view name : provider.variables)
      if (!name.empty()) names.emplace_back(name);
  return names;
}

std::string changes_in_words(const std::vector<std::string>& changes) {
  std::string text;
  for (const std::string& change : changes)
    text += (text.empty() ? "" : ", ") + change +
            (change.find('=') == std::string::npos ? " unset" : "");
  return text;
}

std::string job_line(const std::vector<std::string>& changes) {
  std::string text;
  for (const std::string& change : changes) {
    const bool set = change.find('=') != std::string::npos;
    text += (text.empty() ? "" : "; ") + shell_command({set ? "export" : "unset", change});
  }
  return text;
}

}  // namespace hwprof::blas
