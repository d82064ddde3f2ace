#include "src/blas/evidence/mapped_file.h"

#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "src/blas/evidence/libraries.h"

namespace hwprof::blas {
namespace {

constexpr std::string_view kCoreTable = "gotoblas_";

// What core_in_memory() reads.
constexpr std::array<std::string_view, 5> kKept = {"gotoblas", "blas_cpu_number",
                                                   "bli_arch_query_id", "bli_arch_string",
                                                   "bli_info_get_version_str"};

// Of files without an sgemm_ of their own that still matter: the parts of a library that was cut
// into several, and who takes work away from BLAS. A symbol that they define themselves.
struct Part {
  std::string_view symbol_prefix;
  const char* provider;
};
constexpr std::array kParts = {
    Part{"mkl_blas_", "mkl"},
    Part{"mkl_serv_", "mkl"},
    Part{"ATL_sgemm", "atlas"},
    Part{"gotoblas", "openblas"},
    Part{"bli_", "blis"},
    Part{"dnnl_primitive_", "onednn"},
    Part{"mkldnn_primitive_", "onednn"},
};

// A program without symbols (static and stripped) still holds the messages of the library in it.
// In halves: a program that holds this table, such as hwprof, must not be taken for one.
struct Message {
  const char* begin;
  const char* rest;
  const char* provider;
};
constexpr std::array kMessages = {
    Message{"OpenBLAS : ", "Program is Terminated", "openblas"},
    Message{"Intel MKL ", "FATAL ERROR", "mkl"},
    Message{"libblis: ", "%s", "blis"},
};

std::string provider_by_messages(const ElfFile& elf) {
  for (const Message& message : kMessages) {
    if (elf.constants_hold(std::string(message.begin) + message.rest)) return message.provider;
  }
  return "";
}

bool is_kept(std::string_view name) {
  for (const std::string_view kept : kKept) {
    if (name == kept) return true;
  }
  return false;
}

// Only names that could be one are worth a copy: libtorch_cpu has 100,000 symbols.
bool looks_interesting(std::string_view name) {
  if (name.starts_with("scipy_")) name.remove_prefix(6);
  return name.starts_with("gotoblas") || name.starts_with("blas_cpu_number") ||
         name.starts_with("bli_") || name.starts_with("sgemm_");
}

// "gotoblas_HASWELL" names a core, "gotoblas_init" a function.
bool is_core_table(std::string_view name) {
  return name.size() > kCoreTable.size() && name.starts_with(kCoreTable) &&
         std::isupper(static_cast<unsigned char>(name[kCoreTable.size()])) != 0;
}

struct Seen {
  bool sgemm = false;
  const char* part = nullptr;  // provider
};

void take_symbols(const ElfFile& elf, GElf_Word type, MappedFile& file, Seen& seen) {
  elf.each_symbol(type, [&](const ElfSymbol& symbol) {
    const std::string_view name(symbol.name);
    if (!symbol.defined) {
      if (looks_interesting(name) && plain_symbol(name) == "gotoblas") file.hands_on = true;
      return;
    }
    for (const Part& part : kParts) {
      if (seen.part == nullptr && name.starts_with(part.symbol_prefix)) seen.part = part.provider;
    }
    if (!looks_interesting(name)) return;
    const std::string plain = plain_symbol(name);
    if (plain == "sgemm_") seen.sgemm = true;
    if (is_kept(plain)) file.symbols.emplace(plain, symbol.address);
    if (is_core_table(plain)) {
      file.core_tables.emplace(symbol.address, plain.substr(kCoreTable.size()));
    }
  });
}

// "OpenBLAS 0.3.21 NO_LAPACKE ...", what openblas_get_config begins with.
std::string openblas_version(const ElfFile& elf) {
  constexpr std::string_view kBegin = "OpenBLAS 0.";
  std::string_view text = elf.constant_at(kBegin);
  if (text.empty()) return "";
  text.remove_prefix(text.find('0'));
  return std::string(text.substr(0, text.find_first_not_of("0123456789.")));
}

}  // namespace

std::string plain_symbol(std::string_view name) {
  if (name.starts_with("scipy_")) name.remove_prefix(6);
  std::string plain(name);
  if (plain.ends_with("64_")) {
    plain.resize(plain.size() - 3);
    // The suffix of an ILP64 build replaces the underscore of Fortran or follows it.
    if (plain.starts_with("sgemm") && !plain.ends_with('_')) plain += '_';
  }
  return plain;
}

std::optional<MappedFile> inspect_mapped_file(const std::string& path, bool is_program) {
  const ElfFile elf(path);
  if (!elf.valid()) return std::nullopt;
  MappedFile file;
  Seen seen;
  take_symbols(elf, SHT_DYNSYM, file, seen);
  if (is_program) take_symbols(elf, SHT_SYMTAB, file, seen);
  if (seen.sgemm) {
    const auto identity = identify_file(path);
    if (identity) {
      file.provider = identity->provider;
    } else if (is_program) {
      file.provider = seen.part != nullptr ? seen.part : "unknown";
    }
    file.serves_blas = !file.provider.empty();
  } else if (seen.part != nullptr) {
    file.provider = seen.part;
  } else if (is_program) {
    file.provider = provider_by_messages(elf);
    file.serves_blas = !file.provider.empty();
  }
  if (file.provider.empty()) return std::nullopt;
  if (file.provider == "openblas") file.version = openblas_version(elf);
  file.soname = elf.soname();
  file.build_id = elf.build_id();
  file.segments = elf.segments();
  return file;
}

}  // namespace hwprof::blas
