#include "src/blas/evidence/libraries.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "src/blas/evidence/elf_file.h"

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

Facts read_facts(const ElfFile& elf) {
  Facts facts;
  elf.each_symbol(SHT_DYNSYM, [&](const ElfSymbol& symbol) {
    facts.symbols.emplace_back(symbol.name);
    if (symbol.defined && is_sgemm(symbol.name)) facts.defines_sgemm = true;
  });
  facts.needed = elf.needed();
  facts.code_bytes = elf.code_bytes();
  return facts;
}

bool has_symbol(const Facts& facts, std::string_view prefix) {
  return std::any_of(facts.symbols.begin(), facts.symbols.end(),
                     [&](const std::string& name) { return name.starts_with(prefix); });
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

void add_loader_cache(std::vector<Candidate>& candidates) {
  each_in_loader_cache([&](std::string_view soname, std::string_view path) {
    if (!is_blas_file_name(soname)) return;
    candidates.push_back({std::string(path), fmt::format("loader cache {}", soname), ""});
  });
}

}  // namespace

bool shapes_blas(const std::string& variable) {
  return starts_with_any(variable, kVariablePrefixes);
}

bool is_blas_file_name(std::string_view name) { return starts_with_any(name, kFileNames); }

// ldconfig prints "\tlibblas.so.3 (libc6,x86-64) => /lib/x86_64-linux-gnu/libblas.so.3"; its text
// is older and steadier than the layout of the cache file.
void each_in_loader_cache(const std::function<void(std::string_view, std::string_view)>& take) {
  const std::unique_ptr<FILE, int (*)(FILE*)> list(::popen("/sbin/ldconfig -p 2>/dev/null", "re"),
                                                   ::pclose);
  if (list == nullptr) return;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), list.get()) != nullptr) {
    std::string_view line(buffer.data());
    while (!line.empty() && (line.front() == '\t' || line.front() == ' ')) line.remove_prefix(1);
    while (!line.empty() && line.back() == '\n') line.remove_suffix(1);
    const auto arrow = line.find(" => ");
    if (arrow == std::string_view::npos) continue;
    take(line.substr(0, line.find(' ')), line.substr(arrow + 4));
  }
}

std::string library_of_loader_cache(std::string_view soname) {
  std::string found;
  each_in_loader_cache([&](std::string_view name, std::string_view path) {
    // Libraries of other architectures stand in the same list.
    if (found.empty() && name == soname && identify_file(std::string(path))) found = path;
  });
  return found;
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
  static const auto own_machine = ElfFile("/proc/self/exe").machine();
  const ElfFile elf(path);
  if (!elf.valid() || elf.machine() != own_machine) return std::nullopt;
  const Facts facts = read_facts(elf);
  if (!facts.defines_sgemm || needs(facts, "libcublas")) return std::nullopt;
  const bool threaded = has_symbol(facts, "sgemm_thread_");
  for (const Mark& mark : kMarks) {
    if (has_symbol(facts, mark.symbol_prefix)) return FileIdentity{mark.provider, threaded};
  }
  for (const Mark& mark : kMarks) {
    if (!mark.text.empty() && elf.constants_hold(mark.text)) {
      return FileIdentity{mark.provider, threaded};
    }
  }
  return FileIdentity{is_reference(facts) ? "reference" : "unknown", false};
}

bool file_mentions(const std::string& path, const std::string& text) {
  return ElfFile(path).constants_hold(text);
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
