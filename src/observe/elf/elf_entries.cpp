#include "src/observe/elf/elf_entries.h"

#include <gelf.h>
#include <libelf.h>

#include <cstring>
#include <memory>
#include <string_view>
#include <unordered_set>

#include "src/base/text.h"
#include "src/observe/elf/elf_machine.h"

namespace hwprof::observe {
namespace {

std::vector<GElf_Phdr> segments_of(Elf* elf) {
  std::vector<GElf_Phdr> segments;
  std::size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return segments;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, static_cast<int>(i), &segment) != nullptr) segments.push_back(segment);
  }
  return segments;
}

std::optional<std::uint64_t> file_offset(const std::vector<GElf_Phdr>& segments,
                                         std::uint64_t address) {
  for (const GElf_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz) {
      return address - segment.p_vaddr + segment.p_offset;
    }
  }
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(Elf* elf) : elf_(elf), segments_(segments_of(elf)) {}

  ElfEntries read() {
    for (const GElf_Phdr& segment : segments_) {
      if (segment.p_type == PT_INTERP) read_interpreter(segment);
    }
    // The dynamic symbols first: theirs is the name to show where one place has several.
    for (const GElf_Word wanted : {GElf_Word{SHT_DYNSYM}, GElf_Word{SHT_SYMTAB}}) {
      Elf_Scn* section = nullptr;
      while ((section = elf_nextscn(elf_, section)) != nullptr) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == nullptr || header.sh_entsize == 0) continue;
        if (header.sh_type == wanted) read_symbols(section, header);
        if (header.sh_type == SHT_DYNAMIC && wanted == SHT_DYNSYM) read_dynamic(section, header);
      }
    }
    return std::move(found_);
  }

 private:
  void read_interpreter(const GElf_Phdr& segment) {
    std::size_t size = 0;
    const char* file = elf_rawfile(elf_, &size);
    if (file == nullptr || segment.p_offset > size || segment.p_filesz > size - segment.p_offset) {
      return;
    }
    const char* text = file + segment.p_offset;
    found_.interpreter.assign(text, ::strnlen(text, segment.p_filesz));
  }

  void read_symbols(Elf_Scn* section, const GElf_Shdr& header) {
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr) return;
    const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
    for (int i = 0; i < count; ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, i, &symbol) == nullptr || symbol.st_shndx == SHN_UNDEF ||
          GELF_ST_TYPE(symbol.st_info) != STT_FUNC) {
        continue;
      }
      const char* name = elf_strptr(elf_, header.sh_link, symbol.st_name);
      Routine routine;
      if (name == nullptr || !find_routine(name, routine)) continue;
      const auto offset = file_offset(segments_, symbol.st_value);
      if (offset && seen_.insert(*offset).second) {
        found_.entries.push_back({name, *offset, symbol.st_size, routine});
      }
    }
  }

  void read_dynamic(Elf_Scn* section, const GElf_Shdr& header) {
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr) return;
    std::string_view rpath, runpath;
    const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
    for (int i = 0; i < count; ++i) {
      GElf_Dyn entry;
      if (gelf_getdyn(data, i, &entry) == nullptr) continue;
      const char* text =
          entry.d_tag == DT_NEEDED || entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH
              ? elf_strptr(elf_, header.sh_link, entry.d_un.d_val)
              : nullptr;
      if (text == nullptr) continue;
      if (entry.d_tag == DT_NEEDED) found_.needed.emplace_back(text);
      if (entry.d_tag == DT_RPATH) rpath = text;
      if (entry.d_tag == DT_RUNPATH) runpath = text;
    }
    found_.inherited_run_path = runpath.empty() && !rpath.empty();
    for (const std::string_view folder : split(runpath.empty() ? rpath : runpath, ':')) {
      if (!folder.empty()) found_.run_path.emplace_back(folder);
    }
  }

  Elf* elf_;
  std::vector<GElf_Phdr> segments_;
  std::unordered_set<std::uint64_t> seen_;
  ElfEntries found_;
};

}  // namespace

std::optional<ElfEntries> read_elf_entries(int fd) {
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, ElfEnd> elf(elf_begin(fd, ELF_C_READ_MMAP, nullptr));
  GElf_Ehdr header;
  if (elf == nullptr || elf_kind(elf.get()) != ELF_K_ELF ||
      gelf_getehdr(elf.get(), &header) == nullptr) {
    return std::nullopt;
  }
  ElfEntries found = Reader(elf.get()).read();
  found.native = header.e_machine == kNativeMachine && gelf_getclass(elf.get()) == ELFCLASS64;
  if (!found.native) found.entries.clear();
  return found;
}

}  // namespace hwprof::observe
