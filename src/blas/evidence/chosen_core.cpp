#include "src/blas/evidence/chosen_core.h"

#include <dlfcn.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>

#include "src/blas/evidence/installed.h"
#include "src/blas/providers/providers.h"
#include "src/observe/proc/maps.h"

namespace hwprof::blas {
namespace {

std::string file_of(void* address) {
  Dl_info info{};
  if (address == nullptr || ::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "";
  std::array<char, PATH_MAX> buffer{};
  return ::realpath(info.dli_fname, buffer.data()) != nullptr ? buffer.data() : info.dli_fname;
}

// A build for one CPU reads no OPENBLAS_CORETYPE, Debian's 0.3.21 no OPENBLAS_L2_SIZE.
std::vector<std::string> ignored_variables(const Identity& identity) {
  const ProviderFacts& provider = facts(identity.provider);
  std::vector<std::string> ignored;
  if (!provider.in_one_file) return ignored;
  for (const auto& [name, value] : blas_environment()) {
    if (starts_with_any(name, provider.variables) && !file_mentions(identity.kernels, name)) {
      ignored.push_back(name);
    }
  }
  return ignored;
}

std::string version_of(const BlasLibrary& library, const ProviderFacts& provider) {
  const std::string text = ask_text(library, provider.version_symbol);
  std::string_view version = text;
  if (provider.before_version.empty()) return text;
  if (!version.starts_with(provider.before_version)) return "";
  version.remove_prefix(provider.before_version.size());
  return std::string(version.substr(0, version.find(' ')));
}

}  // namespace

Identity identify(const BlasLibrary& library) {
  Identity identity;
  identity.path = library.path();
  identity.provider = identify_file(library.path()).value_or(FileIdentity{}).provider;
  const ProviderFacts& provider = facts(identity.provider);
  if (*provider.version_symbol != '\0') identity.version = version_of(library, provider);
  if (*provider.core_symbol != '\0') identity.core = ask_text(library, provider.core_symbol);
  if (*provider.kernels_symbol != '\0') {
    identity.kernels = file_of(library.symbol(provider.kernels_symbol));
  }
  // A wider integer than int has its low half where an int is returned, on both architectures.
  if (*provider.threads_symbol != '\0') {
    const int threads = ask<int>(library, provider.threads_symbol).value_or(0);
    if (threads > 0) identity.threads = threads;
  }
  if (provider.ask != nullptr) provider.ask(library, identity);
  if (provider.threads == 1) {
    identity.threads = 1;
    identity.threading = "single-threaded";
  }
  if (identity.kernels.empty()) identity.kernels = library.path();
  identity.vector_class = vector_class_of(identity.provider, identity.core);
  identity.ignored = ignored_variables(identity);
  return identity;
}

std::string backend_of(const BlasLibrary& library, report::Provider provider) {
  if (!facts(provider).wraps) return "";
  std::ifstream maps("/proc/self/maps");
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  for (const observe::FileMapping& mapped : observe::executable_files(text)) {
    const auto file = mapped.path == library.path() ? std::nullopt : identify_file(mapped.path);
    if (!file || facts(file->provider).wraps) continue;
    const auto backend = BlasLibrary::load(mapped.path);  // it is mapped already
    if (!backend) continue;
    const Identity identity = identify(*backend);
    std::string name(to_text(identity.provider));
    if (!identity.version.empty()) name += " " + identity.version;
    if (!identity.core.empty()) name += " " + identity.core;
    return name + " of " + mapped.path;
  }
  return "";
}

report::ChosenCore core_in_memory(const LibraryFile& file, const std::string& path,
                                  std::uint64_t bias, const ReadMemory& read,
                                  const std::string& whose) {
  const ProviderFacts& provider = facts(file.provider);
  report::ChosenCore chosen;
  chosen.provider = file.provider;
  chosen.path = path;
  chosen.version = file.version;
  if (provider.threads > 0) chosen.threads = provider.threads;
  if (provider.read != nullptr) {
    provider.read({file, path, bias, read}, chosen);
  } else {
    chosen.reason = provider.no_core;
  }
  if (chosen.vector_class == VectorClass::kNone) {
    chosen.vector_class = vector_class_of(file.provider, chosen.core);
  }
  if (!chosen.how.empty()) chosen.how += " of " + whose;
  return chosen;
}

const report::ChosenCore* core_behind(const std::vector<report::ChosenCore>& cores,
                                      const std::string& path, report::Provider provider) {
  const report::ChosenCore* own = nullptr;
  const report::ChosenCore* of_provider = nullptr;
  bool one = true;
  for (const report::ChosenCore& core : cores) {
    if (core.path == path) own = &core;
    if (core.provider != provider || core.core.empty()) continue;
    if (of_provider == nullptr) of_provider = &core;
    one = one && of_provider->core == core.core && of_provider->threads == core.threads;
  }
  if (own != nullptr && !own->core.empty()) return own;
  return of_provider != nullptr && one ? of_provider : own;
}

}  // namespace hwprof::blas
