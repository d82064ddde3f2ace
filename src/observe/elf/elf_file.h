// The one reader of ELF files: what a file is, what it asks the dynamic loader for, where its
// segments and symbols lie, and what its constants say. By libelf; made for thousands of symbols a
// millisecond. Names of code and source lines are elfutils' business: symbols.h.
//
// A path may come from another process and name anything: only a regular file is opened, and
// nothing in it is believed that libelf has not checked.
#pragma once

#include <gelf.h>
#include <libelf.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/unique_fd.h"

namespace hwprof::observe {

struct ElfSymbol {
  const char* name;  // never empty; as long as the file is open
  std::uint64_t address = 0, size = 0;
  bool defined = false;  // else the file takes it from another one
  // STT_...: STT_FUNC; STT_GNU_IFUNC, whose address is that of a function that chooses one;
  // STT_NOTYPE, which assemblers leave on a function that nobody has called one.
  unsigned char type = STT_NOTYPE;
};

struct ElfSegment {  // PT_LOAD
  std::uint64_t offset = 0, address = 0, file_size = 0;
  bool executable = false;

  [[nodiscard]] bool holds_offset(std::uint64_t at) const {
    return at >= offset && at - offset < file_size;
  }
  [[nodiscard]] bool holds_address(std::uint64_t at) const {
    return at >= address && at - address < file_size;
  }
};

struct RunPath {
  std::vector<std::string> folders;  // DT_RUNPATH, or else DT_RPATH, as written ($ORIGIN and all)
  bool inherited = false;            // DT_RPATH: it serves the libraries below as well
};

// A regular file, open to be read; invalid, with errno, where there is none. Neither waits for the
// writer of a pipe nor takes a terminal.
UniqueFd open_regular_file(const std::string& path);

// As a build id is written: hexadecimal digits.
std::string build_id_text(std::span<const unsigned char> id);

// Open as long as this lives.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path);
  // `descriptor` stays the caller's, who keeps it open.
  explicit ElfFile(int descriptor);

  [[nodiscard]] bool valid() const { return elf_ != nullptr; }
  [[nodiscard]] GElf_Half machine() const;  // EM_NONE when it is no ELF file
  [[nodiscard]] bool is_64_bit() const;
  [[nodiscard]] bool is_native() const;  // for programs of this machine and word size

  [[nodiscard]] std::string interpreter() const;  // dynamic loader; "": static, or a library
  [[nodiscard]] std::vector<std::string> needed() const { return dynamic_texts(DT_NEEDED); }
  [[nodiscard]] std::string soname() const;  // "" when it has none
  [[nodiscard]] RunPath run_path() const;

  [[nodiscard]] std::string build_id() const;  // "" when it has none
  [[nodiscard]] std::uint64_t code_bytes() const;
  // Of its variables of a thread, where their place must be fixed when a program starts
  // (DF_STATIC_TLS); else 0.
  [[nodiscard]] std::uint64_t fixed_thread_bytes() const;
  [[nodiscard]] std::vector<ElfSegment> segments() const;
  // `table` is SHT_DYNSYM or SHT_SYMTAB.
  void each_symbol(GElf_Word table, const std::function<void(const ElfSymbol&)>& take) const;

  // Addresses that the dynamic loader fills with that of the function `name`: slots of the PLT and
  // of the GOT, ascending.
  [[nodiscard]] std::vector<std::uint64_t> slots_of(std::string_view name) const;

  // Where the function around an address of code begins, by the index of the unwind information
  // (.eh_frame_hdr), which stripped files keep. Absent: there is none, or of an unusual kind.
  [[nodiscard]] std::optional<std::uint64_t> function_begin(std::uint64_t address) const;

  // From the first place where `text` stands in .rodata and its like (not in 30 MB of code), at
  // most to the end of its section; "" when it stands nowhere.
  [[nodiscard]] std::string_view constant_at(std::string_view text) const;
  [[nodiscard]] bool constants_hold(std::string_view text) const {
    return !constant_at(text).empty();
  }

 private:
  void begin(int descriptor);
  [[nodiscard]] std::vector<std::string> dynamic_texts(GElf_Sxword tag) const;

  struct End {
    void operator()(Elf* elf) const { elf_end(elf); }
  };
  UniqueFd file_;  // where it was opened here
  int descriptor_ = -1;
  std::unique_ptr<Elf, End> elf_;
};

}  // namespace hwprof::observe
