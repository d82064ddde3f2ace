#include "src/base/own_parts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

namespace hwprof {

Result<std::string> find_own_part(const char* what,
                                  const std::vector<std::filesystem::path>& places) {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return environment_error(error.value(), fmt::format("{} cannot be looked for", what));
  const auto root = program.parent_path().parent_path();
  for (const auto& place : places)
    if (::access((root / place).c_str(), R_OK) == 0) return (root / place).string();
  return environment_error(
      ENOENT,
      fmt::format("{} is not there: it belongs to {}", what, (root / places.back()).string()),
      "install hwprof whole, with meson install");
}

}  // namespace hwprof
