#include "src/blas/providers/choice.h"

#include <array>
#include <cstring>
#include <string_view>

#include "src/blas/providers/providers.h"

namespace hwprof::blas {
namespace {

using report::ChosenCore;

constexpr const char* kUninitialised = "not initialised when it was last looked at";

#if defined(__x86_64__)
// Address behind the first "op disp32(%rip)" of a function: `opcode` is all that stands before the
// displacement.
std::optional<std::uint64_t> first_relative(std::uint64_t function, std::string_view opcode,
                                            const ReadMemory& read) {
  std::array<char, 64> code{};
  if (!read(function, code.data(), code.size())) return std::nullopt;
  const std::string_view bytes(code.data(), code.size());
  const auto at = bytes.find(opcode);
  const auto end = at + opcode.size() + sizeof(std::int32_t);
  if (at == std::string_view::npos || end > bytes.size()) return std::nullopt;
  std::int32_t displacement = 0;
  std::memcpy(&displacement, bytes.data() + at + opcode.size(), sizeof displacement);
  return function + end + static_cast<std::uint64_t>(static_cast<std::int64_t>(displacement));
}

std::string read_text(std::uint64_t address, const ReadMemory& read) {
  std::array<char, 32> text{};
  if (!read(address, text.data(), text.size() - 1)) return "";
  return text.data();
}

constexpr std::string_view kLoadEax("\x8b\x05", 2);         // mov disp32(%rip),%eax
constexpr std::string_view kAddressRax("\x48\x8d\x05", 3);  // lea disp32(%rip),%rax
#endif

}  // namespace

std::string ask_text(const BlasLibrary& library, const char* name) {
  const char* text = ask<const char*>(library, name).value_or(nullptr);
  return text != nullptr ? text : "";
}

void ask_openblas(const BlasLibrary& library, Identity& identity) {
  constexpr std::array kThreading = {"single-threaded", "pthreads", "openmp"};
  const int parallel = ask<int>(library, "openblas_get_parallel").value_or(-1);
  if (parallel >= 0 && parallel < static_cast<int>(kThreading.size())) {
    identity.threading = kThreading[static_cast<std::size_t>(parallel)];
  }
}

// Its integers (gint_t, dim_t) have 64 bits in every packaged build, whatever the BLAS interface
// has; arch_t is an enum.
void ask_blis(const BlasLibrary& library, Identity& identity) {
  if (const auto id = ask<int>(library, "bli_arch_query_id")) {
    const char* name = ask<const char*>(library, "bli_arch_string", *id).value_or(nullptr);
    if (name != nullptr) identity.core = name;
  }
  const auto openmp = ask<std::int64_t>(library, "bli_info_get_enable_openmp");
  const auto pthreads = ask<std::int64_t>(library, "bli_info_get_enable_pthreads");
  if (openmp && pthreads) {
    identity.threading = *openmp != 0 ? "openmp" : *pthreads != 0 ? "pthreads" : "single-threaded";
  }
}

// "Intel(R) Math Kernel Library Version 2020.0.4 Product Build 20200917 for Intel(R) 64 ..."
void ask_mkl(const BlasLibrary& library, Identity& identity) {
  void* address = library.symbol("MKL_Get_Version_String");
  if (address == nullptr) return;
  std::array<char, 256> text{};
  reinterpret_cast<void (*)(char*, int)>(address)(text.data(), text.size() - 1);
  constexpr std::string_view kLabel = "Version ";
  const std::string_view all(text.data());
  if (const auto at = all.find(kLabel); at != std::string_view::npos) {
    const auto version = all.substr(at + kLabel.size());
    identity.version = version.substr(0, version.find_first_of(" -"));
  }
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

void read_openblas(const ProcessImage& image, ChosenCore& chosen) {
  constexpr int kMostThreads = 1 << 16;  // more is no number of threads
  int threads = 0;
  const auto number = image.address_of("blas_cpu_number");
  if (number && image.read(*number, &threads, sizeof threads) && threads > 0 &&
      threads < kMostThreads) {
    chosen.threads = threads;
  }
  const auto pointer = image.address_of("gotoblas");
  if (!pointer) {
    chosen.reason = image.file.symbols.empty()
                        ? "the file has no symbols that say where it keeps its choice"
                        : "built for one core type: there is no choice to be read";
    return;
  }
  if (!number) chosen.threads = 1;  // a build without threads has no such variable
  std::uint64_t table = 0;
  if (!image.read(*pointer, &table, sizeof table)) {
    chosen.reason = "its memory cannot be read";
    return;
  }
  if (table == 0) {
    chosen.reason = kUninitialised;
    return;
  }
  const auto found = image.file.core_tables.find(table - image.bias);
  if (found == image.file.core_tables.end()) {  // before relocation it may be anything
    chosen.reason = "gotoblas points at a table without a name";
    return;
  }
  // As the library itself writes it: "Haswell" for the table HASWELL.
  const CoreType* known = find_core_type(Provider::kOpenBlas, found->second);
  chosen.core = known != nullptr ? known->name : found->second;
  chosen.how = "gotoblas pointer";
}

#if defined(__x86_64__)
void read_blis(const ProcessImage& image, ChosenCore& chosen) {
  if (const auto version = image.address_of("bli_info_get_version_str")) {
    if (const auto text = first_relative(*version, kAddressRax, image.read)) {
      chosen.version = read_text(*text, image.read);
    }
  }
  const auto query = image.address_of("bli_arch_query_id");
  const auto names = image.address_of("bli_arch_string");
  if (!query || !names) {
    chosen.reason = "this build hides bli_arch_query_id";
    return;
  }
  const auto variable = first_relative(*query, kLoadEax, image.read);
  const auto table = first_relative(*names, kAddressRax, image.read);
  std::int32_t id = -1;
  if (!variable || !table || !image.read(*variable, &id, sizeof id)) {
    chosen.reason = "its memory cannot be read, or bli_arch_query_id is not the known code";
    return;
  }
  constexpr std::int32_t kMostArchitectures = 64;
  std::uint64_t name = 0;
  if (id < 0 || id >= kMostArchitectures) {
    chosen.reason = kUninitialised;
    return;
  }
  const std::uint64_t entry = *table + sizeof name * static_cast<std::uint64_t>(id);
  if (!image.read(entry, &name, sizeof name)) {
    chosen.reason = "its memory cannot be read";
    return;
  }
  chosen.core = read_text(name, image.read);
  if (chosen.core.empty()) {
    chosen.reason = "the name of its architecture cannot be read";
    return;
  }
  chosen.how = "architecture number that bli_arch_query_id loads";
}
#else
void read_blis(const ProcessImage&, ChosenCore& chosen) {
  chosen.reason = "bli_arch_query_id is decoded on x86-64 only";
}
#endif

void read_mkl(const ProcessImage& image, ChosenCore& chosen) {
  // "def", "mc" and "mc3" are the SSE paths; "cnr" serves reproducible results.
  struct Part {
    std::string_view name;
    VectorClass vectors;
  };
  constexpr Part kParts[] = {
      {"avx512", VectorClass::kAvx512}, {"avx512_mic", VectorClass::kAvx512},
      {"avx2", VectorClass::kAvx2},     {"avx", VectorClass::kAvx},
      {"mc3", VectorClass::kSse},       {"mc", VectorClass::kSse},
      {"def", VectorClass::kSse},
  };
  constexpr std::string_view kBegin = "libmkl_";
  std::string_view name = std::string_view(image.path).substr(image.path.rfind('/') + 1);
  for (const Part& part : kParts) {
    if (!name.starts_with(kBegin)) break;
    const std::string_view rest = name.substr(kBegin.size());
    if (rest.substr(0, rest.find('.')) != part.name) continue;
    chosen.core = part.name;
    chosen.vector_class = part.vectors;
    chosen.how = "mapped library";
    return;
  }
  chosen.reason = "no library of one instruction set (libmkl_avx2, ...)";
}

}  // namespace hwprof::blas
