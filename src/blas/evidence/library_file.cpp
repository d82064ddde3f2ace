#include "src/blas/evidence/library_file.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cctype>
#include <utility>

#include "src/blas/providers/providers.h"

namespace hwprof::blas {
namespace {

// The reference needs nothing but these, and is small: kernels for several CPUs and four types are
// not to be had in a megabyte.
constexpr std::string_view kRuntimeLibraries[] = {"libc.so",        "libm.so",     "libgfortran.so",
                                                  "libquadmath.so", "libgcc_s.so", "ld-linux",
                                                  "libpthread.so",  "libdl.so"};
constexpr std::uint64_t kReferenceCodeBytes = 1U << 20U;
constexpr std::string_view kGpuLibraries[] = {"libcublas"};

std::string_view without_prefix(std::string_view name) {
  if (name.starts_with("scipy_")) name.remove_prefix(6);
  return name;
}

bool is_one_of(std::string_view name, const Names& names) {
  return !name.empty() && std::find(names.begin(), names.end(), name) != names.end();
}

// "gotoblas_HASWELL" names a core, "gotoblas_init" a function.
bool is_core_table(std::string_view name, std::string_view prefix) {
  return !prefix.empty() && name.size() > prefix.size() && name.starts_with(prefix) &&
         std::isupper(static_cast<unsigned char>(name[prefix.size()])) != 0;
}

// What a symbol says whose name begins so.
struct Prefix {
  std::string_view text;
  std::size_t provider;
  enum { kMaker, kPart, kChoice } says;
};

// Those with the first letter of `name`: libtorch_cpu has 100,000 symbols, and few are looked at.
const std::vector<Prefix>& prefixes_of(std::string_view name) {
  static const auto by_letter = [] {
    std::array<std::vector<Prefix>, 256> all;
    const auto add = [&all](const Prefix& prefix) {
      if (prefix.text.empty()) return;
      all[static_cast<unsigned char>(prefix.text.front())].push_back(prefix);
    };
    for (std::size_t i = 0; i < all_providers().size(); ++i) {
      const ProviderFacts& row = all_providers()[i];
      for (const std::string_view text : row.symbols) add({text, i, Prefix::kMaker});
      for (const std::string_view text : row.parts) add({text, i, Prefix::kPart});
      for (const std::string_view text : row.kept) add({text, i, Prefix::kChoice});
      add({row.chooser, i, Prefix::kChoice});
    }
    return all;
  }();
  return by_letter[name.empty() ? 0 : static_cast<unsigned char>(name.front())];
}

// What the symbols of a file say, and what of them is worth to be kept.
class Symbols {
 public:
  explicit Symbols(LibraryFile& file) : file_(file) {}

  void walk(const observe::ElfFile& elf, GElf_Word table) {
    elf.each_symbol(table, [&](const observe::ElfSymbol& symbol) { take(symbol); });
  }
  [[nodiscard]] bool made_by(const ProviderFacts& row) const { return seen_[index(row)]; }
  [[nodiscard]] Provider part() const { return part_; }
  // Undecorated, or as the ILP64 builds of Julia and SciPy have it: what can be called.
  [[nodiscard]] bool defines_callable_sgemm() const { return callable_sgemm_; }
  [[nodiscard]] bool defines_sgemm() const { return sgemm_; }
  [[nodiscard]] bool threaded() const { return threaded_; }

 private:
  static std::size_t index(const ProviderFacts& row) {
    return static_cast<std::size_t>(&row - all_providers().data());
  }

  void take(const observe::ElfSymbol& symbol) {
    const std::string_view name(symbol.name);
    const std::string_view bare = without_prefix(name);
    if (name.starts_with("sgemm_thread_")) threaded_ = true;
    // Only names that could be one are worth a copy.
    bool interesting = bare.starts_with("sgemm_");
    for (const Prefix& prefix : prefixes_of(name)) {
      if (!name.starts_with(prefix.text)) continue;
      if (prefix.says == Prefix::kMaker) seen_[prefix.provider] = true;
      if (prefix.says == Prefix::kPart && symbol.defined && part_ == Provider::kNone) {
        part_ = static_cast<Provider>(prefix.provider);
      }
    }
    for (const Prefix& prefix : prefixes_of(bare)) {
      interesting =
          interesting || (prefix.says == Prefix::kChoice && bare.starts_with(prefix.text));
    }
    if (interesting) keep(symbol, bare);
  }

  void keep(const observe::ElfSymbol& symbol, std::string_view bare) {
    const std::string plain = plain_symbol(symbol.name);
    if (symbol.defined && plain == "sgemm_") sgemm_ = true;
    if (symbol.defined && (bare == "sgemm_" || bare == "sgemm_64_")) callable_sgemm_ = true;
    for (const ProviderFacts& row : all_providers()) {
      const bool chooser = !row.chooser.empty() && plain == row.chooser;
      if (chooser && !symbol.defined) file_.hands_on = true;
      if (!symbol.defined) continue;
      if (chooser || is_one_of(plain, row.kept)) file_.symbols.emplace(plain, symbol.address);
      if (is_core_table(plain, row.core_tables)) {
        file_.core_tables.emplace(symbol.address, plain.substr(row.core_tables.size()));
      }
    }
  }

  LibraryFile& file_;
  std::bitset<64> seen_;  // by provider: has a symbol of its
  Provider part_ = Provider::kNone;
  bool sgemm_ = false, callable_sgemm_ = false, threaded_ = false;
};

bool is_reference(const observe::ElfFile& elf, const std::vector<std::string>& needed) {
  return elf.code_bytes() < kReferenceCodeBytes &&
         std::all_of(needed.begin(), needed.end(), [](const std::string& name) {
           return starts_with_any(name, kRuntimeLibraries);
         });
}

// By dynamic symbols alone.
std::optional<FileIdentity> identify_file(const observe::ElfFile& elf, const Symbols& symbols) {
  if (!elf.is_native() || !symbols.defines_callable_sgemm()) return std::nullopt;
  const std::vector<std::string> needed = elf.needed();
  if (std::any_of(needed.begin(), needed.end(),
                  [](const auto& name) { return starts_with_any(name, kGpuLibraries); })) {
    return std::nullopt;
  }
  Provider maker = find_provider([&](const ProviderFacts& row) { return symbols.made_by(row); });
  if (maker == Provider::kNone) {
    maker = find_provider([&](const ProviderFacts& row) {
      return !row.constant.empty() && elf.constants_hold(row.constant);
    });
  }
  if (maker != Provider::kNone) return FileIdentity{maker, symbols.threaded()};
  return FileIdentity{is_reference(elf, needed) ? Provider::kReference : Provider::kUnknown, false};
}

// A program without symbols (static and stripped) still holds the messages of the library in it.
Provider provider_by_messages(const observe::ElfFile& elf) {
  return find_provider([&](const ProviderFacts& row) {
    return !row.message[0].empty() &&
           elf.constants_hold(std::string(row.message[0]).append(row.message[1]));
  });
}

// "OpenBLAS 0.3.21 NO_LAPACKE ...", what openblas_get_config begins with.
std::string version_in(const observe::ElfFile& elf, const ProviderFacts& provider) {
  if (provider.before_version.empty()) return "";
  std::string_view text = elf.constant_at(std::string(provider.before_version) + "0.");
  if (text.empty()) return "";
  text.remove_prefix(provider.before_version.size());
  return std::string(text.substr(0, text.find_first_not_of("0123456789.")));
}

}  // namespace

std::optional<FileIdentity> identify_file(const std::string& path) {
  const observe::ElfFile elf(path);
  if (!elf.valid()) return std::nullopt;
  LibraryFile unused;
  Symbols symbols(unused);
  symbols.walk(elf, SHT_DYNSYM);
  return identify_file(elf, symbols);
}

bool file_mentions(const std::string& path, const std::string& text) {
  return observe::ElfFile(path).constants_hold(text);
}

std::string plain_symbol(std::string_view name) {
  std::string plain(without_prefix(name));
  if (plain.ends_with("64_")) {
    plain.resize(plain.size() - 3);
    // The suffix of an ILP64 build replaces the underscore of Fortran or follows it.
    if (plain.starts_with("sgemm") && !plain.ends_with('_')) plain += '_';
  }
  return plain;
}

std::optional<LibraryFile> inspect_file(const std::string& path, bool is_program) {
  const observe::ElfFile elf(path);
  if (!elf.valid()) return std::nullopt;
  LibraryFile file;
  Symbols symbols(file);
  symbols.walk(elf, SHT_DYNSYM);
  const auto identity = identify_file(elf, symbols);
  if (is_program) symbols.walk(elf, SHT_SYMTAB);
  if (symbols.defines_sgemm()) {
    if (identity) {
      file.provider = identity->provider;
    } else if (is_program) {
      file.provider = symbols.part() != Provider::kNone ? symbols.part() : Provider::kUnknown;
    }
    file.serves_blas = file.provider != Provider::kNone;
  } else if (symbols.part() != Provider::kNone) {
    file.provider = symbols.part();
  } else if (is_program) {
    file.provider = provider_by_messages(elf);
    file.serves_blas = file.provider != Provider::kNone;
  }
  if (file.provider == Provider::kNone) return std::nullopt;
  file.version = version_in(elf, facts(file.provider));
  file.soname = elf.soname();
  file.build_id = elf.build_id();
  file.segments = elf.segments();
  return file;
}

}  // namespace hwprof::blas
