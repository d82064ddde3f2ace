// An ELF file on disk: the little of it that tells what it is and where its symbols lie. Made for
// thousands of symbols a millisecond, not for all that libelf can do.
#pragma once

#include <gelf.h>
#include <libelf.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/unique_fd.h"

namespace hwprof::blas {

struct ElfSymbol {
  const char* name;  // as long as the file is open
  std::uint64_t address = 0, size = 0;
  bool defined = false;
};

struct ElfSegment {  // PT_LOAD
  std::uint64_t offset = 0, address = 0, file_size = 0;
};

// Open as long as this lives.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path);

  [[nodiscard]] bool valid() const { return elf_ != nullptr; }
  [[nodiscard]] GElf_Half machine() const;  // EM_NONE when it is no ELF file
  [[nodiscard]] std::vector<std::string> needed() const;
  [[nodiscard]] std::string soname() const;    // "" when it has none
  [[nodiscard]] std::string build_id() const;  // hexadecimal, "" when it has none
  [[nodiscard]] std::uint64_t code_bytes() const;
  [[nodiscard]] std::vector<ElfSegment> segments() const;
  // `type` is SHT_DYNSYM or SHT_SYMTAB.
  void each_symbol(GElf_Word type, const std::function<void(const ElfSymbol&)>& take) const;
  // From the first place where `text` stands in .rodata and its like (not in 30 MB of code), at
  // most to the end of its section; "" when it stands nowhere.
  [[nodiscard]] std::string_view constant_at(std::string_view text) const;
  [[nodiscard]] bool constants_hold(std::string_view text) const {
    return !constant_at(text).empty();
  }

 private:
  [[nodiscard]] std::vector<std::string> dynamic_texts(GElf_Sxword tag) const;

  struct End {
    void operator()(Elf* elf) const { elf_end(elf); }
  };
  UniqueFd file_;
  std::unique_ptr<Elf, End> elf_;
};

}  // namespace hwprof::blas
