#include "src/blas/evidence/declared.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

#include "src/base/text.h"
#include "src/blas/evidence/elf_file.h"
#include "src/blas/evidence/libraries.h"
#include "src/observe/proc/program_file.h"

namespace hwprof::blas {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDefaultSoname = "libblas.so.3";

// As the loader looks for it, but for the RPATH of who asks.
struct Default {
  std::string path, provider;
};
std::optional<Default> default_library() {
  const char* folders = std::getenv("LD_LIBRARY_PATH");
  std::vector<fs::path> candidates;
  for (const std::string_view folder : split(folders != nullptr ? folders : "", ':')) {
    if (!folder.empty()) candidates.push_back(fs::path(folder) / kDefaultSoname);
  }
  if (std::string path = library_of_loader_cache(kDefaultSoname); !path.empty()) {
    candidates.emplace_back(std::move(path));
  }
  for (const fs::path& candidate : candidates) {
    std::error_code error;
    const fs::path file = fs::canonical(candidate, error);
    if (error) continue;
    if (const auto identity = identify_file(file)) return Default{file, identity->provider};
  }
  return std::nullopt;
}

}  // namespace

report::Declared declared(const std::vector<std::string>& command) {
  report::Declared said;
  said.environment = blas_environment();
  if (auto library = default_library()) {
    said.default_library = std::move(library->path);
    said.default_provider = std::move(library->provider);
  }
  if (!command.empty()) {
    const auto program = find_program(command.front());
    for (std::string& soname : ElfFile(program.value_or("")).needed()) {
      if (is_blas_file_name(soname)) said.needed.push_back(std::move(soname));
    }
  }
  return said;
}

}  // namespace hwprof::blas
