#include "src/blas/evidence/elf_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cstring>

namespace hwprof::blas {
namespace {

// Calls `take` with each section and its header until that returns true.
template <class Take>
void each_section(Elf* elf, const Take& take) {
  Elf_Scn* section = nullptr;
  while (elf != nullptr && (section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) != nullptr && take(section, header)) return;
  }
}

}  // namespace

ElfFile::ElfFile(const std::string& path) {
  elf_version(EV_CURRENT);
  // A path of another process may name anything: a pipe must not block, a terminal not become ours.
  file_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file_.valid()) elf_.reset(elf_begin(file_.get(), ELF_C_READ_MMAP, nullptr));
  if (elf_ != nullptr && elf_kind(elf_.get()) != ELF_K_ELF) elf_.reset();
}

GElf_Half ElfFile::machine() const {
  GElf_Ehdr header;
  return elf_ != nullptr && gelf_getehdr(elf_.get(), &header) != nullptr ? header.e_machine
                                                                         : GElf_Half{EM_NONE};
}

std::vector<std::string> ElfFile::dynamic_texts(GElf_Sxword tag) const {
  std::vector<std::string> texts;
  each_section(elf_.get(), [&](Elf_Scn* section, const GElf_Shdr& header) {
    if (header.sh_type != SHT_DYNAMIC || header.sh_entsize == 0) return false;
    Elf_Data* data = elf_getdata(section, nullptr);
    const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
    for (int i = 0; data != nullptr && i < count; ++i) {
      GElf_Dyn entry;
      if (gelf_getdyn(data, i, &entry) == nullptr || entry.d_tag != tag) continue;
      const char* name = elf_strptr(elf_.get(), header.sh_link, entry.d_un.d_val);
      if (name != nullptr) texts.emplace_back(name);
    }
    return true;
  });
  return texts;
}

std::vector<std::string> ElfFile::needed() const { return dynamic_texts(DT_NEEDED); }

std::string ElfFile::soname() const {
  const auto names = dynamic_texts(DT_SONAME);
  return names.empty() ? "" : names.front();
}

std::string ElfFile::build_id() const {
  std::string text;
  each_section(elf_.get(), [&](Elf_Scn* section, const GElf_Shdr& header) {
    Elf_Data* data = header.sh_type == SHT_NOTE ? elf_getdata(section, nullptr) : nullptr;
    GElf_Nhdr note;
    std::size_t name_at = 0, id_at = 0, at = 0;
    while (data != nullptr && (at = gelf_getnote(data, at, &note, &name_at, &id_at)) > 0) {
      const auto* bytes = static_cast<const unsigned char*>(data->d_buf);
      if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof ELF_NOTE_GNU ||
          std::memcmp(bytes + name_at, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) != 0) {
        continue;
      }
      for (std::size_t i = 0; i < note.n_descsz; ++i) {
        text += fmt::format("{:02x}", bytes[id_at + i]);
      }
      return true;
    }
    return false;
  });
  return text;
}

std::uint64_t ElfFile::code_bytes() const {
  std::uint64_t bytes = 0;
  each_section(elf_.get(), [&](Elf_Scn*, const GElf_Shdr& header) {
    if ((header.sh_flags & SHF_EXECINSTR) != 0) bytes += header.sh_size;
    return false;
  });
  return bytes;
}

std::vector<ElfSegment> ElfFile::segments() const {
  std::vector<ElfSegment> segments;
  std::size_t count = 0;
  if (elf_ == nullptr || elf_getphdrnum(elf_.get(), &count) != 0) return segments;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf_.get(), static_cast<int>(i), &header) != nullptr &&
        header.p_type == PT_LOAD) {
      segments.push_back({header.p_offset, header.p_vaddr, header.p_filesz});
    }
  }
  return segments;
}

void ElfFile::each_symbol(GElf_Word type, const std::function<void(const ElfSymbol&)>& take) const {
  each_section(elf_.get(), [&](Elf_Scn* section, const GElf_Shdr& header) {
    if (header.sh_type != type || header.sh_entsize == 0) return false;
    Elf_Data* data = elf_getdata(section, nullptr);
    const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
    for (int i = 0; data != nullptr && i < count; ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, i, &symbol) == nullptr) continue;
      const char* name = elf_strptr(elf_.get(), header.sh_link, symbol.st_name);
      if (name == nullptr || *name == '\0') continue;
      take({name, symbol.st_value, symbol.st_size, symbol.st_shndx != SHN_UNDEF});
    }
    return false;
  });
}

std::string_view ElfFile::constant_at(std::string_view text) const {
  std::string_view found;
  each_section(elf_.get(), [&](Elf_Scn* section, const GElf_Shdr& header) {
    if (header.sh_type != SHT_PROGBITS || (header.sh_flags & SHF_EXECINSTR) != 0 ||
        (header.sh_flags & SHF_ALLOC) == 0) {
      return false;
    }
    const Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) return false;
    const std::string_view bytes(static_cast<const char*>(data->d_buf), data->d_size);
    const void* at = ::memmem(bytes.data(), bytes.size(), text.data(), text.size());
    if (at != nullptr) {
      found = bytes.substr(static_cast<std::size_t>(static_cast<const char*>(at) - bytes.data()));
    }
    return !found.empty();
  });
  return found;
}

}  // namespace hwprof::blas
