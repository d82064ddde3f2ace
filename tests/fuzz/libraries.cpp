// Whose a library or a program is: ELF files whose symbols, constants and needed libraries are
// those that are looked for, before some of their bytes are changed; and any other bytes.
#include <elf.h>

#include <array>
#include <vector>

#include "src/blas/evidence/library_file.h"
#include "src/blas/providers/providers.h"
#include "src/observe/calls/routine_file.h"
#include "src/observe/proc/program_file.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace hwprof;
using namespace hwprof::blas;

constexpr std::string_view kSymbols[] = {
    "sgemm_",           "sgemm_64_",       "scipy_sgemm_64_", "cblas_sgemm",     "gotoblas",
    "gotoblas_HASWELL", "blas_cpu_number", "bli_arch_string", "sgemm_thread_nn", "mkl_blas_dgemm"};
constexpr std::string_view kNeeded[] = {"libc.so.6", "libcublas.so.12", "libopenblas.so.0", ""};
constexpr std::string_view kConstants[] = {"OPENBLAS_NUM_THREADS", "BLIS_ARCH_TYPE",
                                           "OpenBLAS 0.3.21 NO_LAPACKE", "OpenBLAS 0.", ""};

template <class Words>
std::string word(Feed& feed, const Words& words) {
  const std::size_t at = feed.below(std::size(words) + 1);
  return std::string(at < std::size(words) ? words[at] : feed.text());
}

// A file of sections, each behind the one before, with their headers at its end.
class ElfBytes {
 public:
  ElfBytes() : bytes_(sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr), '\0') { add({}, ""); }

  void add(Elf64_Shdr header, std::string_view content) {
    header.sh_offset = bytes_.size();
    header.sh_size = content.size();
    headers_.push_back(header);
    bytes_ += content;
  }

  std::string finish() {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
#if defined(__aarch64__)
    header.e_machine = EM_AARCH64;
#else
    header.e_machine = EM_X86_64;
#endif
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof header;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 2;
    header.e_shoff = bytes_.size();
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(headers_.size());
    const std::array<Elf64_Phdr, 2> segments = {
        Elf64_Phdr{PT_LOAD, PF_R | PF_X, 0, 0, 0, bytes_.size(), bytes_.size(), 4096},
        Elf64_Phdr{PT_INTERP, PF_R, bytes_.size() - 16, 0, 0, 16, 16, 1}};
    std::memcpy(bytes_.data(), &header, sizeof header);
    std::memcpy(bytes_.data() + sizeof header, segments.data(), sizeof segments);
    bytes_.append(reinterpret_cast<const char*>(headers_.data()),
                  headers_.size() * sizeof headers_.front());
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
  std::vector<Elf64_Shdr> headers_;
};

template <class Record>
void append(std::string& to, const Record& record) {
  to.append(reinterpret_cast<const char*>(&record), sizeof record);
}

constexpr Elf64_Word kNames = 5;  // place of the section with all names, which comes last

void add_symbols(ElfBytes& elf, Elf64_Word type, std::string& names, Feed& feed) {
  std::string table(sizeof(Elf64_Sym), '\0');
  for (std::size_t i = feed.below(16); i > 0; --i) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(names.size());
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, feed.below(2) == 0 ? STT_FUNC : STT_OBJECT);
    symbol.st_shndx = static_cast<Elf64_Half>(feed.below(4) == 0 ? SHN_UNDEF : 1);
    symbol.st_value = feed.number<std::uint16_t>();
    symbol.st_size = 16;
    append(table, symbol);
    names += word(feed, kSymbols) + '\0';
  }
  elf.add({.sh_type = type, .sh_link = kNames, .sh_entsize = sizeof(Elf64_Sym)}, table);
}

std::string elf_of(Feed& feed) {
  ElfBytes elf;
  std::string names(1, '\0'), constants, dynamic;
  for (std::size_t i = feed.below(4); i > 0; --i) {
    append(dynamic, Elf64_Dyn{feed.below(4) == 0 ? DT_SONAME : DT_NEEDED, {names.size()}});
    names += word(feed, kNeeded) + '\0';
  }
  for (std::size_t i = feed.below(4); i > 0; --i) constants += word(feed, kConstants) + '\0';
  elf.add({.sh_type = SHT_DYNAMIC, .sh_link = kNames, .sh_entsize = sizeof(Elf64_Dyn)}, dynamic);
  elf.add({.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC}, constants);
  add_symbols(elf, SHT_DYNSYM, names, feed);
  add_symbols(elf, SHT_SYMTAB, names, feed);
  elf.add({.sh_type = SHT_STRTAB}, names);
  return elf.finish();
}

void check_library(const std::string& path) {
  const auto identity = identify_file(path);
  const auto library = inspect_file(path, false);
  const auto program = inspect_file(path, true);
  if (identity) {
    must(library.has_value() && library->provider == identity->provider);
    must(library->serves_blas);
  }
  for (const auto* file : {&library, &program}) {
    if (!*file) continue;
    must((*file)->provider != report::Provider::kNone);
    must((*file)->version.find_first_not_of("0123456789.") == std::string::npos);
    for (const auto& [address, core] : (*file)->core_tables) must(!core.empty());
  }
  file_mentions(path, "OPENBLAS_CORETYPE");
  observe::open_routine_file(path);
}

void check_program(const std::string& path, bool is_script) {
  const ProgramFile program = inspect_program(path);
  must(is_script || program.path == path);
  must(program.is_elf || !program.is_static);
}

}  // namespace

void fuzz(std::string_view text) {
  Feed feed(text);
  std::string bytes;
  if (feed.below(2) == 0) {
    bytes = feed.rest();
  } else {
    bytes = elf_of(feed);
    while (!feed.empty()) bytes[feed.number<std::uint16_t>() % bytes.size()] = feed.number<char>();
  }
  const UniqueFd file = file_of(bytes);
  check_library(path_of(file));
  check_program(path_of(file), bytes.starts_with("#!"));
}
