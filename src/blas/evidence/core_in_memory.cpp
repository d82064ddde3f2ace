#include "src/blas/evidence/core_in_memory.h"

#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "src/blas/providers/core_types.h"

namespace hwprof::blas {
namespace {

constexpr int kMostThreads = 1 << 16;  // more is no number of threads

std::optional<std::uint64_t> address_of(const MappedFile& file, std::uint64_t bias,
                                        const char* name) {
  const auto found = file.symbols.find(name);
  if (found == file.symbols.end()) return std::nullopt;
  return bias + found->second;
}

// As the library itself writes it: "Haswell" for the table HASWELL.
std::string core_name(const std::string& provider, const std::string& table) {
  const CoreType* known = find_core_type(provider, table);
  return known != nullptr ? known->name : table;
}

void read_openblas(const MappedFile& file, std::uint64_t bias, const ReadMemory& read,
                   CoreInMemory& core) {
  report::SelectedCore& selected = core.selected;
  int threads = 0;
  const auto number = address_of(file, bias, "blas_cpu_number");
  if (number && read(*number, &threads, sizeof threads) && threads > 0 && threads < kMostThreads) {
    selected.threads = threads;
  }
  const auto pointer = address_of(file, bias, "gotoblas");
  if (!pointer) {
    selected.reason = file.symbols.empty()
                          ? "the file has no symbols that say where it keeps its choice"
                          : "built for one core type: there is no choice to be read";
    return;
  }
  if (!number) selected.threads = 1;  // a build without threads has no such variable
  std::uint64_t table = 0;
  if (!read(*pointer, &table, sizeof table)) {
    selected.reason = "its memory cannot be read";
    core.settled = false;
    return;
  }
  if (table == 0) {
    selected.reason = "not initialised when it was last looked at";
    core.settled = false;
    return;
  }
  const auto found = file.core_tables.find(table - bias);
  if (found == file.core_tables.end()) {
    selected.reason = "gotoblas points at a table without a name";
    core.settled = false;  // before relocation it may be anything
    return;
  }
  selected.core = core_name("openblas", found->second);
  selected.how = "gotoblas pointer";
}

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

void read_blis(const MappedFile& file, std::uint64_t bias, const ReadMemory& read,
               CoreInMemory& core) {
  report::SelectedCore& selected = core.selected;
  if (const auto version = address_of(file, bias, "bli_info_get_version_str")) {
    if (const auto text = first_relative(*version, kAddressRax, read)) {
      selected.version = read_text(*text, read);
    }
  }
  const auto query = address_of(file, bias, "bli_arch_query_id");
  const auto names = address_of(file, bias, "bli_arch_string");
  if (!query || !names) {
    selected.reason = "this build hides bli_arch_query_id";
    return;
  }
  const auto variable = first_relative(*query, kLoadEax, read);
  const auto table = first_relative(*names, kAddressRax, read);
  std::int32_t id = -1;
  if (!variable || !table || !read(*variable, &id, sizeof id)) {
    selected.reason = "its memory cannot be read, or bli_arch_query_id is not the known code";
    return;
  }
  constexpr std::int32_t kMostArchitectures = 64;
  std::uint64_t name = 0;
  if (id < 0 || id >= kMostArchitectures) {
    selected.reason = "not initialised when it was last looked at";
    core.settled = false;
    return;
  }
  if (!read(*table + sizeof name * static_cast<std::uint64_t>(id), &name, sizeof name)) return;
  selected.core = read_text(name, read);
  selected.how = "architecture number that bli_arch_query_id loads";
}
#else
void read_blis(const MappedFile&, std::uint64_t, const ReadMemory&, CoreInMemory& core) {
  core.selected.reason = "bli_arch_query_id is decoded on x86-64 only";
}
#endif

}  // namespace

std::string mkl_kernels(const std::string& path) {
  constexpr std::string_view kName = "libmkl_";
  // "def", "mc" and "mc3" are the SSE paths; "cnr" serves reproducible results.
  constexpr std::array<std::string_view, 7> kKernels = {"avx512", "avx512_mic", "avx2", "avx",
                                                        "mc3",    "mc",         "def"};
  const auto at = path.rfind('/') + 1;
  std::string_view name = std::string_view(path).substr(at);
  if (!name.starts_with(kName)) return "";
  name.remove_prefix(kName.size());
  name = name.substr(0, name.find('.'));
  for (const std::string_view known : kKernels) {
    if (name == known) return std::string(name);
  }
  return "";
}

CoreInMemory core_in_memory(const MappedFile& file, const std::string& path, std::uint64_t bias,
                            const ReadMemory& read, const std::string& whose) {
  CoreInMemory core;
  report::SelectedCore& selected = core.selected;
  selected.provider = file.provider;
  selected.path = path;
  selected.version = file.version;
  if (file.provider == "openblas") {
    read_openblas(file, bias, read, core);
  } else if (file.provider == "blis") {
    read_blis(file, bias, read, core);
  } else if (file.provider == "mkl") {
    selected.core = mkl_kernels(path);
    if (selected.core.empty()) {
      selected.reason = "no library of one instruction set (libmkl_avx2, ...)";
    } else {
      selected.how = "mapped library";
      selected.vector_class = selected.core.starts_with("avx512") ? "avx512"
                              : selected.core.starts_with("avx")  ? selected.core
                                                                  : "sse";
    }
  } else if (file.provider == "reference") {
    selected.reason = "the reference has no core types";
    selected.threads = 1;
  } else if (file.provider == "atlas") {
    selected.reason = "the core of ATLAS is fixed when it is built";
  } else if (file.provider == "onednn") {
    selected.reason = "oneDNN generates its code for each shape at run time";
  } else {
    selected.reason = "not known how this library keeps its choice";
  }
  if (selected.vector_class.empty()) {
    selected.vector_class = vector_class_of(file.provider, selected.core);
  }
  if (!selected.how.empty()) selected.how += " of " + whose;
  return core;
}

}  // namespace hwprof::blas
