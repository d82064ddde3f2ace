// What the audit library reads of a mapped ELF file: its symbols' names, its relocations, where it
// lies. By the dynamic section that the loader has found, and the headers where they are mapped; no
// file is opened.
#pragma once

#include <elf.h>
#include <link.h>

#include "src/observe/audit/system_call.h"
#include "src/observe/audit/table.h"

namespace hwprof::observe::audit {

// The program's own headers, which the kernel tells of: those of a program that is not relocatable
// are found in no other way.
struct ProgramHeaders {
  const Elf64_Phdr* first = nullptr;
  u64 count = 0;
  u64 page_bytes = 4096;  // of the kernel
};

// From the vector that stands behind the environment.
inline ProgramHeaders own_headers(char** environment) {
  while (*environment != nullptr) ++environment;
  ProgramHeaders headers;
  for (const auto* entry = reinterpret_cast<const Elf64_auxv_t*>(environment + 1);
       entry->a_type != AT_NULL; ++entry) {
    if (entry->a_type == AT_PHDR) headers.first = reinterpret_cast<Elf64_Phdr*>(entry->a_un.a_val);
    if (entry->a_type == AT_PHNUM) headers.count = entry->a_un.a_val;
    if (entry->a_type == AT_PAGESZ) headers.page_bytes = entry->a_un.a_val;
  }
  return headers;
}

class ElfObject {
 public:
  ElfObject(const link_map* map, const ProgramHeaders& own)
      : base_(map->l_addr), page_bytes_(own.page_bytes) {
    if (*map->l_name == '\0') {
      headers_ = own;
    } else {
      find_headers(map);
    }
    for (const Elf64_Dyn* entry = map->l_ld; entry != nullptr && entry->d_tag != DT_NULL; ++entry)
      take(*entry);
  }

  // False: where its segments lie is not known; then it contains nothing.
  [[nodiscard]] bool has_segments() const { return headers_.count > 0; }
  [[nodiscard]] bool contains(u64 address) const {
    return find_segment([&](const Elf64_Phdr& segment) {
             return segment.p_type == PT_LOAD && holds(segment, address);
           }) != nullptr;
  }
  [[nodiscard]] u64 page_bytes() const { return page_bytes_; }
  [[nodiscard]] u64 page_of(u64 address) const { return address & ~(page_bytes_ - 1); }
  // Made read-only once the file is relocated: whole pages alone, as the loader has it
  // (_dl_protect_relro). The last one may hold variables as well.
  [[nodiscard]] bool is_sealed(u64 address) const {
    return find_segment([&](const Elf64_Phdr& segment) {
             const u64 begin = base_ + segment.p_vaddr;
             return segment.p_type == PT_GNU_RELRO && address >= page_of(begin) &&
                    address < page_of(begin + segment.p_memsz);
           }) != nullptr;
  }
  // What the loader leaves its page with once the file is relocated, as a segment's flags; 0: that
  // is not known.
  [[nodiscard]] u32 page_flags(u64 address) const {
    if (is_sealed(address)) return PF_R;
    const Elf64_Phdr* found = find_segment([&](const Elf64_Phdr& segment) {
      return segment.p_type == PT_LOAD && holds(segment, address);
    });
    return found != nullptr ? found->p_flags : 0;
  }
  // Loaded to be written: its pages hold no code.
  [[nodiscard]] bool is_data(u64 address) const {
    const Elf64_Phdr* found = find_segment([&](const Elf64_Phdr& segment) {
      return segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0 && holds(segment, address);
    });
    return found != nullptr && (found->p_flags & PF_X) == 0;
  }

  // The first values of thread-local variables: the loader copies them for each thread.
  [[nodiscard]] bool is_thread_local(u64 address) const {
    return find_segment([&](const Elf64_Phdr& segment) {
             return segment.p_type == PT_TLS && holds(segment, address);
           }) != nullptr;
  }

  // Where this program has the variable of `library` that `address` is of, if the loader has copied
  // it there; 0: it has not.
  [[nodiscard]] u64 copy_of(const ElfObject& library, u64 address) const {
    if (names_ == nullptr || symbols_ == nullptr) return 0;
    for (u64 i = relative_; i < relocations_; ++i) {
      if (ELF64_R_TYPE(first_relocation_[i].r_info) != kCopy) continue;
      const Elf64_Sym& own = symbols_[ELF64_R_SYM(first_relocation_[i].r_info)];
      const Elf64_Sym* copied =
          library.find_symbol(names_ + own.st_name, [](const Elf64_Sym&) { return true; });
      if (copied == nullptr) continue;
      const u64 place = address - library.base_ - copied->st_value;
      if (place < own.st_size) return base_ + first_relocation_[i].r_offset + place;
    }
    return 0;
  }

  struct Span {
    u64 begin = 0, bytes = 0;
    [[nodiscard]] bool contains(u64 address) const { return address - begin < bytes; }
    [[nodiscard]] bool overlaps(const Span& other) const {
      return begin < other.begin + other.bytes && other.begin < begin + bytes;
    }
  };
  // From its first segment to the end of its last one; nothing: that is not known.
  [[nodiscard]] Span span() const {
    Span all;
    for (u64 i = 0; i < headers_.count; ++i) {
      const Elf64_Phdr& segment = headers_.first[i];
      if (segment.p_type != PT_LOAD) continue;
      if (all.bytes == 0) all.begin = base_ + segment.p_vaddr;
      all.bytes = base_ + segment.p_vaddr + segment.p_memsz - all.begin;
    }
    return all;
  }

  struct Code {
    const unsigned char* begin = nullptr;
    u64 bytes = 0;
  };
  // Of a function that the file exports; nothing: there is none.
  [[nodiscard]] Code code(const char* name) const {
    const Elf64_Sym* found = find_symbol(
        name, [](const Elf64_Sym& symbol) { return ELF64_ST_TYPE(symbol.st_info) == STT_FUNC; });
    if (found == nullptr) return {};
    return {reinterpret_cast<const unsigned char*>(base_ + found->st_value), found->st_size};
  }
  // Its address; 0: there is none.
  [[nodiscard]] u64 function(const char* name) const {
    return reinterpret_cast<u64>(code(name).begin);
  }
  // The address of a variable that the file exports; 0: there is none.
  [[nodiscard]] u64 variable(const char* name) const {
    const Elf64_Sym* found = find_symbol(
        name, [](const Elf64_Sym& symbol) { return ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT; });
    return found == nullptr ? 0 : base_ + found->st_value;
  }
  // Whether a function lies there, and not a variable that has a function's name. `type`: of the
  // symbol by which it was found. What IFUNC has chosen may lie in another file; of hand-written
  // code without a type, and of what has no symbol here, the segment tells.
  [[nodiscard]] bool is_code(u64 address, unsigned char type) const {
    if (type != STT_NOTYPE) return type == STT_FUNC || type == STT_GNU_IFUNC;
    return find_segment([&](const Elf64_Phdr& segment) {
             return segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 &&
                    holds(segment, address);
           }) != nullptr;
  }
  [[nodiscard]] bool is_code(u64 address, const char* name) const {
    const Elf64_Sym* found = find_symbol(
        name, [&](const Elf64_Sym& symbol) { return base_ + symbol.st_value == address; });
    const auto type = found != nullptr ? ELF64_ST_TYPE(found->st_info) : STT_NOTYPE;
    return is_code(address, static_cast<unsigned char>(type));
  }
  // Whether what it exports as `name` begins there.
  [[nodiscard]] bool defines(const char* name, u64 address) const {
    return find_symbol(name, [&](const Elf64_Sym& symbol) {
             return base_ + symbol.st_value == address;
           }) != nullptr;
  }

  // The entry whose function is the first that runs of the file; nullptr: it has none.
  [[nodiscard]] const Elf64_Dyn* start() const { return start_; }

  // `use(name, place)` for each address of a symbol that the loader writes when it loads the file;
  // `of_calls`: those as well that it may write at the first call.
  template <class Use>
  void for_each_address(bool of_calls, Use use) const {
    if (names_ == nullptr || symbols_ == nullptr) return;
    for (u64 i = relative_; i < relocations_; ++i) {
      const u64 type = ELF64_R_TYPE(first_relocation_[i].r_info);
      if ((type == kGlobalData || type == kAbsolute) && first_relocation_[i].r_addend == 0)
        use_symbol(first_relocation_[i], use);
    }
    for (u64 i = 0; of_calls && i < calls_; ++i) {
      if (ELF64_R_TYPE(first_call_[i].r_info) == kCall) use_symbol(first_call_[i], use);
    }
  }

 private:
#if defined(__x86_64__)
  static constexpr u64 kGlobalData = R_X86_64_GLOB_DAT, kAbsolute = R_X86_64_64,
                       kCall = R_X86_64_JUMP_SLOT, kCopy = R_X86_64_COPY;
#else
  static constexpr u64 kGlobalData = R_AARCH64_GLOB_DAT, kAbsolute = R_AARCH64_ABS64,
                       kCall = R_AARCH64_JUMP_SLOT, kCopy = R_AARCH64_COPY;
#endif

  template <class Use>
  void use_symbol(const Elf64_Rela& relocation, Use& use) const {
    const Elf64_Sym& symbol = symbols_[ELF64_R_SYM(relocation.r_info)];
    use(names_ + symbol.st_name, base_ + relocation.r_offset);
  }

  // A shared library begins with its header, but it need not be mapped where the addresses in the
  // file count from: of one whose first segment has another address than 0, anything may lie there.
  // The table behind it may lie in no segment; it is the file's own where it tells of the dynamic
  // section that the loader has found.
  void find_headers(const link_map* map) {
    const auto* header = reinterpret_cast<const Elf64_Ehdr*>(base_);
    if (base_ == 0 || !is_readable_now(base_)) return;
    if (header->e_ident[EI_MAG0] != ELFMAG0 || header->e_ident[EI_MAG1] != ELFMAG1 ||
        header->e_ident[EI_MAG2] != ELFMAG2 || header->e_ident[EI_MAG3] != ELFMAG3 ||
        header->e_phentsize != sizeof(Elf64_Phdr)) {
      return;
    }
    const u64 first = base_ + header->e_phoff, last = first + header->e_phnum * sizeof(Elf64_Phdr);
    constexpr u64 kSmallestPage = 4096;
    for (u64 at = first; at < last; at += kSmallestPage) {
      if (!is_readable_now(at)) return;
    }
    if (!is_readable_now(last)) return;
    headers_.first = reinterpret_cast<const Elf64_Phdr*>(first);
    headers_.count = header->e_phnum;
    const auto is_own = [&](const Elf64_Phdr& segment) {
      return segment.p_type == PT_DYNAMIC &&
             base_ + segment.p_vaddr == reinterpret_cast<u64>(map->l_ld);
    };
    if (find_segment(is_own) == nullptr) headers_.count = 0;
  }

  // The loader has added the base to most addresses, but not where it may not write.
  template <class T>
  [[nodiscard]] const T* at(u64 address) const {
    return reinterpret_cast<const T*>(address < base_ ? address + base_ : address);
  }

  void take(const Elf64_Dyn& entry) {
    switch (entry.d_tag) {
      case DT_SYMTAB:
        symbols_ = at<Elf64_Sym>(entry.d_un.d_ptr);
        break;
      case DT_STRTAB:
        names_ = at<char>(entry.d_un.d_ptr);
        break;
      case DT_HASH:
        hash_ = at<u32>(entry.d_un.d_ptr);
        break;
      case DT_GNU_HASH:
        gnu_hash_ = at<u32>(entry.d_un.d_ptr);
        break;
      case DT_RELA:
        first_relocation_ = at<Elf64_Rela>(entry.d_un.d_ptr);
        break;
      case DT_RELASZ:
        relocations_ = entry.d_un.d_val / sizeof(Elf64_Rela);
        break;
      case DT_RELACOUNT:  // of those without a symbol, which stand in front
        relative_ = entry.d_un.d_val;
        break;
      case DT_JMPREL:
        first_call_ = at<Elf64_Rela>(entry.d_un.d_ptr);
        break;
      case DT_PLTRELSZ:
        calls_ = entry.d_un.d_val / sizeof(Elf64_Rela);
        break;
      case DT_INIT:
        start_ = &entry;
        break;
      default:
        break;
    }
  }

  template <class Is>
  [[nodiscard]] const Elf64_Phdr* find_segment(Is is) const {
    for (u64 i = 0; i < headers_.count; ++i) {
      if (is(headers_.first[i])) return &headers_.first[i];
    }
    return nullptr;
  }
  [[nodiscard]] bool holds(const Elf64_Phdr& segment, u64 address) const {
    return address - base_ - segment.p_vaddr < segment.p_memsz;
  }

  // By the hash table that linkers of today write (GNU's, whose chains end with an odd number); all
  // are looked at where there is but the one of the System V ABI.
  template <class Is>
  [[nodiscard]] const Elf64_Sym* find_symbol(const char* name, Is is) const {
    if (names_ == nullptr || symbols_ == nullptr) return nullptr;
    const auto is_it = [&](const Elf64_Sym& symbol) {
      return symbol.st_shndx != SHN_UNDEF && routine_names::equal(names_ + symbol.st_name, name) &&
             is(symbol);
    };
    if (gnu_hash_ == nullptr) {
      for (u32 i = 1; hash_ != nullptr && i < hash_[1]; ++i) {
        if (is_it(symbols_[i])) return &symbols_[i];
      }
      return nullptr;
    }
    u32 hash = 5381;
    for (const char* letter = name; *letter != '\0'; ++letter)
      hash = hash * 33 + static_cast<unsigned char>(*letter);
    const u32 buckets = gnu_hash_[0], first = gnu_hash_[1], words_of_filter = 2 * gnu_hash_[2];
    if (buckets == 0) return nullptr;
    const u32* bucket = gnu_hash_ + 4 + words_of_filter;
    const u32* chain = bucket + buckets;
    for (u32 i = bucket[hash % buckets]; i >= first && i != 0; ++i) {
      if ((chain[i - first] | 1U) == (hash | 1U) && is_it(symbols_[i])) return &symbols_[i];
      if ((chain[i - first] & 1U) != 0) break;
    }
    return nullptr;
  }

  u64 base_, page_bytes_;
  ProgramHeaders headers_;
  const Elf64_Sym* symbols_ = nullptr;
  const char* names_ = nullptr;
  const u32* hash_ = nullptr;
  const u32* gnu_hash_ = nullptr;
  const Elf64_Rela* first_relocation_ = nullptr;
  const Elf64_Dyn* start_ = nullptr;
  const Elf64_Rela* first_call_ = nullptr;
  u64 relocations_ = 0, relative_ = 0, calls_ = 0;
};

}  // namespace hwprof::observe::audit
