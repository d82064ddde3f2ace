#include "src/observe/elf/elf_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "src/base/text.h"
#include "src/base/untrusted_file.h"

namespace hwprof::observe {
namespace {

#if defined(__x86_64__)
constexpr GElf_Half kNativeMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr GElf_Half kNativeMachine = EM_AARCH64;
#else
constexpr GElf_Half kNativeMachine = EM_NONE;
#endif

// Calls `take` with each program header.
template <class Take>
void each_segment(Elf* elf, const Take& take) {
  std::size_t count = 0;
  if (elf == nullptr || elf_getphdrnum(elf, &count) != 0) return;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) != nullptr) take(header);
  }
}

// Calls `take` with each section and its header until that returns true.
template <class Take>
void each_section(Elf* elf, const Take& take) {
  Elf_Scn* section = nullptr;
  while (elf != nullptr && (section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) != nullptr && take(section, header)) return;
  }
}

int entries_of(const GElf_Shdr& header) {
  return header.sh_entsize > 0 ? static_cast<int>(header.sh_size / header.sh_entsize) : 0;
}

// Calls `take` with each entry of the dynamic section, and the header of that.
template <class Take>
void each_dynamic_entry(Elf* elf, const Take& take) {
  each_section(elf, [&](Elf_Scn* section, const GElf_Shdr& header) {
    if (header.sh_type != SHT_DYNAMIC) return false;
    Elf_Data* data = elf_getdata(section, nullptr);
    for (int i = 0; data != nullptr && i < entries_of(header); ++i) {
      GElf_Dyn entry;
      if (gelf_getdyn(data, i, &entry) != nullptr) take(header, entry);
    }
    return true;
  });
}

}  // namespace

UniqueFd open_regular_file(const std::string& path) {
  auto file = open_untrusted(path, {.follow_link = true});
  if (file) return *std::move(file);
  errno = file.error().code != 0 ? file.error().code : EINVAL;
  return {};
}

std::string build_id_text(std::span<const unsigned char> id) {
  return fmt::format("{:02x}", fmt::join(id, ""));
}

ElfFile::ElfFile(const std::string& path) : file_(open_regular_file(path)) { begin(file_.get()); }

ElfFile::ElfFile(int descriptor) { begin(descriptor); }

void ElfFile::begin(int descriptor) {
  descriptor_ = descriptor;
  elf_version(EV_CURRENT);
  // Not mapped: who cuts off a file that is mapped ends whoever reads it.
  if (descriptor >= 0) elf_.reset(elf_begin(descriptor, ELF_C_READ, nullptr));
  GElf_Ehdr header;
  if (elf_ != nullptr &&
      (elf_kind(elf_.get()) != ELF_K_ELF || gelf_getehdr(elf_.get(), &header) == nullptr)) {
    elf_.reset();
  }
}

GElf_Half ElfFile::machine() const {
  GElf_Ehdr header;
  return elf_ != nullptr && gelf_getehdr(elf_.get(), &header) != nullptr ? header.e_machine
                                                                         : GElf_Half{EM_NONE};
}

bool ElfFile::is_64_bit() const {
  return elf_ != nullptr && gelf_getclass(elf_.get()) == ELFCLASS64;
}

bool ElfFile::is_native() const { return is_64_bit() && machine() == kNativeMachine; }

std::string ElfFile::interpreter() const {
  std::string loader;
  each_segment(elf_.get(), [&](const GElf_Phdr& segment) {
    if (segment.p_type != PT_INTERP) return;
    std::string text(std::min<std::size_t>(segment.p_filesz, PATH_MAX), '\0');
    const ssize_t got =
        ::pread(descriptor_, text.data(), text.size(), static_cast<off_t>(segment.p_offset));
    if (got > 0) loader.assign(text.data(), ::strnlen(text.data(), static_cast<std::size_t>(got)));
  });
  return loader;
}

std::vector<std::string> ElfFile::dynamic_texts(GElf_Sxword tag) const {
  std::vector<std::string> texts;
  each_dynamic_entry(elf_.get(), [&](const GElf_Shdr& header, const GElf_Dyn& entry) {
    if (entry.d_tag != tag) return;
    const char* text = elf_strptr(elf_.get(), header.sh_link, entry.d_un.d_val);
    if (text != nullptr) texts.emplace_back(text);
  });
  return texts;
}

std::string ElfFile::soname() const {
  const auto names = dynamic_texts(DT_SONAME);
  return names.empty() ? "" : names.front();
}

RunPath ElfFile::run_path() const {
  RunPath path;
  std::vector<std::string> texts = dynamic_texts(DT_RUNPATH);
  if (texts.empty()) {
    texts = dynamic_texts(DT_RPATH);
    path.inherited = !texts.empty();
  }
  for (const std::string& text : texts) {
    for (const std::string_view folder : split(text, ':')) {
      if (!folder.empty()) path.folders.emplace_back(folder);
    }
  }
  return path;
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
      text = build_id_text({bytes + id_at, note.n_descsz});
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

std::uint64_t ElfFile::fixed_thread_bytes() const {
  std::uint64_t bytes = 0;
  each_segment(elf_.get(), [&](const GElf_Phdr& header) {
    if (header.p_type == PT_TLS) bytes = header.p_memsz;
  });
  bool fixed = false;
  if (bytes > 0) {
    each_dynamic_entry(elf_.get(), [&](const GElf_Shdr&, const GElf_Dyn& entry) {
      fixed = fixed || (entry.d_tag == DT_FLAGS && (entry.d_un.d_val & DF_STATIC_TLS) != 0);
    });
  }
  return fixed ? bytes : 0;
}

std::vector<ElfSegment> ElfFile::segments() const {
  std::vector<ElfSegment> segments;
  each_segment(elf_.get(), [&](const GElf_Phdr& header) {
    if (header.p_type != PT_LOAD) return;
    segments.push_back(
        {header.p_offset, header.p_vaddr, header.p_filesz, (header.p_flags & PF_X) != 0});
  });
  return segments;
}

void ElfFile::each_symbol(GElf_Word table,
                          const std::function<void(const ElfSymbol&)>& take) const {
  each_section(elf_.get(), [&](Elf_Scn* section, const GElf_Shdr& header) {
    if (header.sh_type != table) return false;
    Elf_Data* data = elf_getdata(section, nullptr);
    for (int i = 0; data != nullptr && i < entries_of(header); ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, i, &symbol) == nullptr) continue;
      const char* name = elf_strptr(elf_.get(), header.sh_link, symbol.st_name);
      if (name == nullptr || *name == '\0') continue;
      take({name, symbol.st_value, symbol.st_size, symbol.st_shndx != SHN_UNDEF,
            static_cast<unsigned char>(GELF_ST_TYPE(symbol.st_info))});
    }
    return false;
  });
}

std::vector<std::uint64_t> ElfFile::slots_of(std::string_view name) const {
  std::vector<std::uint64_t> slots;
  each_section(elf_.get(), [&](Elf_Scn* section, const GElf_Shdr& header) {
    if (header.sh_type != SHT_RELA) return false;
    Elf_Scn* table = elf_getscn(elf_.get(), header.sh_link);
    GElf_Shdr symbols;
    if (table == nullptr || gelf_getshdr(table, &symbols) == nullptr ||
        symbols.sh_type != SHT_DYNSYM) {
      return false;
    }
    Elf_Data* data = elf_getdata(section, nullptr);
    Elf_Data* names = elf_getdata(table, nullptr);
    for (int i = 0; data != nullptr && names != nullptr && i < entries_of(header); ++i) {
      GElf_Rela relocation;
      GElf_Sym symbol;
      if (gelf_getrela(data, i, &relocation) == nullptr) break;
      const auto number = static_cast<int>(GELF_R_SYM(relocation.r_info));
      if (number == 0 || gelf_getsym(names, number, &symbol) == nullptr) continue;
      const char* text = elf_strptr(elf_.get(), symbols.sh_link, symbol.st_name);
      if (text != nullptr && name == text) slots.push_back(relocation.r_offset);
    }
    return false;
  });
  std::sort(slots.begin(), slots.end());
  return slots;
}

std::optional<std::uint64_t> ElfFile::function_begin(std::uint64_t address) const {
  // Linux Standard Base, "Exception Frames": four bytes that say how the rest is written, the
  // address of .eh_frame, the number of entries, and for each, sorted, where a function begins and
  // where its description stands, both relative to the section. This is how every linker writes it.
  constexpr std::array<unsigned char, 4> kUsual = {1, 0x1b, 0x03, 0x3b};
  constexpr std::size_t kEntries = 12, kEntryBytes = 8, kCountAt = 8;
  std::optional<std::uint64_t> begin;
  each_section(elf_.get(), [&](Elf_Scn* section, const GElf_Shdr& header) {
    const char* name = nullptr;
    std::size_t names = 0;
    if (elf_getshdrstrndx(elf_.get(), &names) == 0)
      name = elf_strptr(elf_.get(), names, header.sh_name);
    if (name == nullptr || std::string_view(name) != ".eh_frame_hdr") return false;
    const Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr || data->d_size < kEntries) return true;
    const auto* bytes = static_cast<const unsigned char*>(data->d_buf);
    if (!std::equal(kUsual.begin(), kUsual.end(), bytes)) return true;
    std::uint32_t count = 0;
    std::memcpy(&count, bytes + kCountAt, sizeof count);
    count = static_cast<std::uint32_t>(
        std::min<std::size_t>(count, (data->d_size - kEntries) / kEntryBytes));
    const auto begins = [&](std::uint32_t entry) {
      std::int32_t offset = 0;
      std::memcpy(&offset, bytes + kEntries + kEntryBytes * entry, sizeof offset);
      return header.sh_addr + static_cast<std::uint64_t>(std::int64_t{offset});
    };
    std::uint32_t low = 0, high = count;  // the first that begins behind the address
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (begins(middle) <= address) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low > 0) begin = begins(low - 1);
    return true;
  });
  return begin;
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

}  // namespace hwprof::observe
