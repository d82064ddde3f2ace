#include "src/blas/evidence/selected.h"

#include <dlfcn.h>

#include <array>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "src/blas/evidence/libraries.h"

namespace hwprof::blas {
namespace {

// Calls `name` where the library has it. Result must be constructible from nothing.
template <class Value, class... Arguments>
std::optional<Value> ask(const BlasLibrary& library, const char* name, Arguments... arguments) {
  void* address = library.symbol(name);
  if (address == nullptr) return std::nullopt;
  return reinterpret_cast<Value (*)(Arguments...)>(address)(arguments...);
}

std::string ask_text(const BlasLibrary& library, const char* name) {
  const char* text = ask<const char*>(library, name).value_or(nullptr);
  return text != nullptr ? text : "";
}

std::string file_of(void* address) {
  Dl_info info{};
  if (address == nullptr || ::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "";
  std::array<char, PATH_MAX> buffer{};
  return ::realpath(info.dli_fname, buffer.data()) != nullptr ? buffer.data() : info.dli_fname;
}

std::optional<int> if_positive(std::optional<std::int64_t> count) {
  if (!count || *count < 1) return std::nullopt;
  return static_cast<int>(*count);
}

// "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY Haswell MAX_THREADS=64"
void ask_openblas(const BlasLibrary& library, Identity& identity) {
  std::istringstream config(ask_text(library, "openblas_get_config"));
  std::string word;
  if (config >> word && word == "OpenBLAS") config >> identity.version;
  identity.core = ask_text(library, "openblas_get_corename");
  identity.threads = ask<int>(library, "openblas_get_num_threads");
  switch (ask<int>(library, "openblas_get_parallel").value_or(-1)) {
    case 0:
      identity.threading = "single-threaded";
      break;
    case 1:
      identity.threading = "pthreads";
      break;
    case 2:
      identity.threading = "openmp";
      break;
    default:
      break;
  }
  identity.kernels = file_of(library.symbol("openblas_get_config"));
}

// Its integers (gint_t, dim_t) have 64 bits in every packaged build, whatever the BLAS interface
// has; arch_t is an enum.
void ask_blis(const BlasLibrary& library, Identity& identity) {
  identity.version = ask_text(library, "bli_info_get_version_str");
  if (const auto id = ask<int>(library, "bli_arch_query_id")) {
    const char* name = ask<const char*>(library, "bli_arch_string", *id).value_or(nullptr);
    if (name != nullptr) identity.core = name;
  }
  const auto openmp = ask<std::int64_t>(library, "bli_info_get_enable_openmp");
  const auto pthreads = ask<std::int64_t>(library, "bli_info_get_enable_pthreads");
  if (openmp && pthreads) {
    identity.threading = *openmp != 0 ? "openmp" : *pthreads != 0 ? "pthreads" : "single-threaded";
  }
  identity.threads = if_positive(ask<std::int64_t>(library, "bli_thread_get_num_threads"));
}

// "Intel(R) Math Kernel Library Version 2020.0.4 Product Build 20200917 for Intel(R) 64 ..."
void ask_mkl(const BlasLibrary& library, Identity& identity) {
  if (void* address = library.symbol("MKL_Get_Version_String")) {
    std::array<char, 256> text{};
    reinterpret_cast<void (*)(char*, int)>(address)(text.data(), text.size() - 1);
    constexpr std::string_view kLabel = "Version ";
    const std::string_view all(text.data());
    if (const auto at = all.find(kLabel); at != std::string_view::npos) {
      const auto version = all.substr(at + kLabel.size());
      identity.version = version.substr(0, version.find_first_of(" -"));
    }
  }
  identity.threads = if_positive(ask<int>(library, "MKL_Get_Max_Threads"));
}

// A build for one CPU reads no OPENBLAS_CORETYPE, Debian's 0.3.21 no OPENBLAS_L2_SIZE. Only asked
// of libraries that keep all they read in one file.
std::vector<std::string> ignored_variables(const Identity& identity) {
  std::vector<std::string> ignored;
  if (identity.provider != "openblas" && identity.provider != "blis") return ignored;
  for (const auto& variables : kProviderVariables) {
    if (identity.provider != variables.provider) continue;
    for (const auto& [name, value] : blas_environment()) {
      if (name.starts_with(variables.prefix) && !file_mentions(identity.kernels, name)) {
        ignored.push_back(name);
      }
    }
  }
  return ignored;
}

}  // namespace

Identity identify(const BlasLibrary& library) {
  Identity identity;
  identity.provider =
      identify_file(library.path()).value_or(FileIdentity{"unknown", false}).provider;
  identity.kernels = library.path();
  if (identity.provider == "openblas") ask_openblas(library, identity);
  if (identity.provider == "blis") ask_blis(library, identity);
  if (identity.provider == "mkl") ask_mkl(library, identity);
  if (identity.provider == "atlas") identity.kernels = file_of(library.symbol("ATL_sgemm"));
  if (identity.provider == "reference") {
    identity.threading = "single-threaded";
    identity.threads = 1;
  }
  if (identity.kernels.empty()) identity.kernels = library.path();
  identity.ignored = ignored_variables(identity);
  return identity;
}

std::vector<std::string> blis_architectures(const BlasLibrary& library) {
  std::vector<std::string> names;
  if (library.symbol("bli_arch_string") == nullptr) return names;
  // "generic" ends the library's own table: behind it is no string.
  constexpr int kMost = 64;
  for (int id = 0; id < kMost; ++id) {
    const char* name = ask<const char*>(library, "bli_arch_string", id).value_or(nullptr);
    if (name == nullptr) break;
    names.emplace_back(name);
    if (names.back() == "generic") return names;
  }
  return {};
}

}  // namespace hwprof::blas
