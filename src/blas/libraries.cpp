#include "src/blas/libraries.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>
#include <utility>

#include "counters/unique_fd.h"

namespace hwprof::blas {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 12> kVariablePrefixes = {
    "OPENBLAS_", "GOTO_",     "BLIS_", "MKL_",   "OMP_",       "KMP_",
    "GOMP_",     "FLEXIBLAS", "LBT_",  "ARMPL_", "NVPL_BLAS_", "ATLAS_",
};

// What a library of each maker cannot do without: a dynamic symbol, its own or one that it takes
// from a library below it (Debian's libblas.so.3 of OpenBLAS has only the undefined gotoblas, that
// of ATLAS only undefined ATL_*), or else the name of a variable that it reads (Debian's BLIS
// libblas.so.3 hides every bli_*). First match wins: FlexiBLAS wraps others, so it stands first.
struct Mark {
  const char* provider;
  std::string_view symbol_prefix;
  std::string_view text;  // may be empty
};
constexpr std::array kMarks = {
    Mark{"flexiblas", "flexiblas_", ""},
    Mark{"libblastrampoline", "lbt_", ""},
    Mark{"mkl", "mkl_", "MKL_ENABLE_INSTRUCTIONS"},
    Mark{"mkl", "MKL_", ""},
    Mark{"armpl", "armpl_", ""},
    Mark{"nvpl", "nvpl_blas_", ""},
    Mark{"openblas", "gotoblas", "OPENBLAS_NUM_THREADS"},
    Mark{"openblas", "openblas_", ""},
    Mark{"openblas", "scipy_openblas_", ""},
    Mark{"blis", "bli_", "BLIS_ARCH_TYPE"},
    Mark{"atlas", "ATL_", ""},
};

// The reference needs nothing but these, and is small: kernels for several CPUs and four types are
// not to be had in a megabyte.
constexpr std::array<std::string_view, 8> kRuntimeLibraries = {
    "libc.so",     "libm.so",  "libgfortran.so", "libquadmath.so",
    "libgcc_s.so", "ld-linux", "libpthread.so",  "libdl.so"};
constexpr std::uint64_t kReferenceCodeBytes = 1U << 20U;

// Names under which a BLAS is installed; of the thousands of libraries in a loader cache only
// these are opened.
constexpr std::array<std::string_view, 12> kFileNames = {
    "libblas.so", "libblas64",  "libopenblas",  "libblis",  "libmkl_rt",    "libsatlas",
    "libtatlas",  "libf77blas", "libflexiblas", "libarmpl", "libnvpl_blas", "libblastrampoline",
};

bool starts_with_any(std::string_view text, const auto& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return text.starts_with(prefix); });
}

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfPtr = std::unique_ptr<Elf, ElfEnd>;

// The little of a shared library that tells who made it.
struct Facts {
  std::vector<std::string> symbols;  // dynamic, defined or not
  std::vector<std::string> needed;
  bool defines_sgemm = false;
  std::uint64_t code_bytes = 0;
};

bool is_sgemm(std::string_view name) {
  if (name.starts_with("scipy_")) name.remove_prefix(6);
  return name == "sgemm_" || name == "sgemm_64_";
}

void read_symbols(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, Facts& facts) {
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, i, &symbol) == nullptr) continue;
    const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name == nullptr || *name == '\0') continue;
    facts.symbols.emplace_back(name);
    if (symbol.st_shndx != SHN_UNDEF && is_sgemm(name)) facts.defines_sgemm = true;
  }
}

void read_needed(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, Facts& facts) {
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
  for (int i = 0; i < count; ++i) {
    GElf_Dyn entry;
    if (gelf_getdyn(data, i, &entry) == nullptr || entry.d_tag != DT_NEEDED) continue;
    const char* name = elf_strptr(elf, header.sh_link, entry.d_un.d_val);
    if (name != nullptr) facts.needed.emplace_back(name);
  }
}

Facts read_facts(Elf* elf) {
  Facts facts;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    if (header.sh_type == SHT_DYNSYM) read_symbols(elf, section, header, facts);
    if (header.sh_type == SHT_DYNAMIC) read_needed(elf, section, header, facts);
    if ((header.sh_flags & SHF_EXECINSTR) != 0) facts.code_bytes += header.sh_size;
  }
  return facts;
}

bool has_symbol(const Facts& facts, std::string_view prefix) {
  return std::any_of(facts.symbols.begin(), facts.symbols.end(),
                     [&](const std::string& name) { return name.starts_with(prefix); });
}

// In .rodata and its like, not in 30 MB of code.
bool constants_hold(Elf* elf, std::string_view text) {
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_PROGBITS ||
        (header.sh_flags & SHF_EXECINSTR) != 0 || (header.sh_flags & SHF_ALLOC) == 0) {
      continue;
    }
    const Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) continue;
    if (::memmem(data->d_buf, data->d_size, text.data(), text.size()) != nullptr) return true;
  }
  return false;
}

// An ELF file, open as long as this lives.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) {
    elf_version(EV_CURRENT);
    file_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file_.valid()) elf_.reset(elf_begin(file_.get(), ELF_C_READ_MMAP, nullptr));
    if (elf_ != nullptr && elf_kind(elf_.get()) != ELF_K_ELF) elf_.reset();
  }
  [[nodiscard]] Elf* get() const { return elf_.get(); }

 private:
  UniqueFd file_;
  ElfPtr elf_;
};

GElf_Half machine_of(Elf* elf) {
  GElf_Ehdr header;
  return elf != nullptr && gelf_getehdr(elf, &header) != nullptr ? header.e_machine
                                                                 : GElf_Half{EM_NONE};
}

bool needs(const Facts& facts, std::string_view prefix) {
  return std::any_of(facts.needed.begin(), facts.needed.end(),
                     [&](const std::string& name) { return name.starts_with(prefix); });
}

bool is_reference(const Facts& facts) {
  return facts.code_bytes < kReferenceCodeBytes &&
         std::all_of(facts.needed.begin(), facts.needed.end(), [](const std::string& name) {
           return starts_with_any(name, kRuntimeLibraries);
         });
}

struct Candidate {
  std::string path, how, select;
};

// dpkg's and chkconfig's records: the mode, the link, names and links of followers, an empty line,
// then for each choice its path, its priority and its followers' paths.
void add_alternatives(const fs::path& folder, std::vector<Candidate>& candidates) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    if (!starts_with_any(name, kFileNames) || name.find(".so.") == std::string::npos) continue;
    std::ifstream file(entry.path());
    std::string mode, link, line;
    std::getline(file, mode);
    std::getline(file, link);
    while (std::getline(file, line)) {
      if (!line.starts_with('/') || line == link) continue;
      candidates.push_back({line, "alternative of " + name,
                            fmt::format("update-alternatives --set {} {}", name, line)});
    }
  }
}

void add_loader_path(std::vector<Candidate>& candidates) {
  const char* value = std::getenv("LD_LIBRARY_PATH");
  std::string_view rest = value != nullptr ? value : "";
  while (!rest.empty()) {
    const auto end = std::min(rest.find_first_of(":;"), rest.size());
    const fs::path folder(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      const std::string name = entry.path().filename();
      if (starts_with_any(name, kFileNames)) {
        candidates.push_back({entry.path(), "LD_LIBRARY_PATH " + name, ""});
      }
    }
  }
}

// ldconfig prints "\tlibblas.so.3 (libc6,x86-64) => /lib/x86_64-linux-gnu/libblas.so.3"; its text
// is older and steadier than the layout of the cache file.
void add_loader_cache(std::vector<Candidate>& candidates) {
  const std::unique_ptr<FILE, int (*)(FILE*)> list(::popen("/sbin/ldconfig -p 2>/dev/null", "re"),
                                                   ::pclose);
  if (list == nullptr) return;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), list.get()) != nullptr) {
    std::string_view line(buffer.data());
    while (!line.empty() && (line.front() == '\t' || line.front() == ' ')) line.remove_prefix(1);
    while (!line.empty() && line.back() == '\n') line.remove_suffix(1);
    const auto arrow = line.find(" => ");
    if (arrow == std::string_view::npos || !starts_with_any(line, kFileNames)) continue;
    candidates.push_back({std::string(line.substr(arrow + 4)),
                          fmt::format("loader cache {}", line.substr(0, line.find(' '))), ""});
  }
}

}  // namespace

bool shapes_blas(const std::string& variable) {
  return starts_with_any(variable, kVariablePrefixes);
}

std::map<std::string, std::string> blas_environment() {
  std::map<std::string, std::string> found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    const std::string name(text.substr(0, equals));
    if (equals != std::string_view::npos && shapes_blas(name))
      found[name] = text.substr(equals + 1);
  }
  return found;
}

std::optional<FileIdentity> identify_file(const std::string& path) {
  static const auto own_machine = machine_of(ElfFile("/proc/self/exe").get());
  const ElfFile elf(path);
  if (elf.get() == nullptr || machine_of(elf.get()) != own_machine) return std::nullopt;
  const Facts facts = read_facts(elf.get());
  if (!facts.defines_sgemm || needs(facts, "libcublas")) return std::nullopt;
  const bool threaded = has_symbol(facts, "sgemm_thread_");
  for (const Mark& mark : kMarks) {
    if (has_symbol(facts, mark.symbol_prefix)) return FileIdentity{mark.provider, threaded};
  }
  for (const Mark& mark : kMarks) {
    if (!mark.text.empty() && constants_hold(elf.get(), mark.text)) {
      return FileIdentity{mark.provider, threaded};
    }
  }
  return FileIdentity{is_reference(facts) ? "reference" : "unknown", false};
}

bool file_mentions(const std::string& path, const std::string& text) {
  const ElfFile elf(path);
  return elf.get() != nullptr && constants_hold(elf.get(), text);
}

std::vector<InstalledBlas> installed_blas() {
  std::vector<Candidate> candidates;
  add_loader_path(candidates);
  for (const char* folder : {"/var/lib/dpkg/alternatives", "/var/lib/alternatives"}) {
    add_alternatives(folder, candidates);
  }
  add_loader_cache(candidates);

  std::vector<InstalledBlas> installed;
  for (Candidate& candidate : candidates) {
    std::error_code error;
    const std::string path = fs::canonical(candidate.path, error);
    if (error || std::any_of(installed.begin(), installed.end(),
                             [&](const InstalledBlas& known) { return known.path == path; })) {
      continue;
    }
    if (auto file = identify_file(path)) {
      installed.push_back(
          {path, std::move(candidate.how), *std::move(file), std::move(candidate.select)});
    }
  }
  return installed;
}

}  // namespace hwprof::blas
