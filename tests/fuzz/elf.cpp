// A file that claims to be ELF, or, from a first byte on, one whose header is right. Its bytes are
// a stack, too, that is unwound by what the file says.
#include <algorithm>
#include <cstring>
#include <span>

#include "src/observe/calls/routine_file.h"
#include "src/observe/elf/elf_file.h"
#include "src/observe/elf/symbols.h"
#include "src/observe/unwind/unwind_table.h"
#include "src/observe/unwind/unwinder.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace hwprof::observe;

// The file lies at address 0.
class OneFile final : public UnwindCode {
 public:
  explicit OneFile(UnwindTable& table) : table_(table) {}
  const UnwindRow* row(std::uint64_t address) override { return table_.row(address); }
  bool follows_call(std::uint64_t address) override { return table_.follows_call(address); }
  bool is_entry(std::uint64_t address) override { return table_.is_entry(address); }
  bool is_generated(std::uint64_t address) override { return address % 2 == 0; }
  bool is_return_probe(std::uint64_t address) override { return address % 8 == 1; }

 private:
  UnwindTable& table_;
};

class Bytes final : public StackMemory {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  bool word(std::uint64_t address, std::uint64_t& value) override {
    if (bytes_.size() < sizeof value || address > bytes_.size() - sizeof value) return false;
    std::memcpy(&value, bytes_.data() + address, sizeof value);
    return true;
  }
  bool read(std::uint64_t /*address*/, std::span<std::byte> /*to*/) override { return false; }

 private:
  std::string_view bytes_;
};

void unwind_by(int file, std::string_view stack) {
  UnwindBudget budget{.rows = 2000, .cpu_ns = 1e9};
  UnwindTable table(file, budget);
  OneFile code(table);
  Bytes memory(stack);
  for (std::uint64_t pc = 0; pc < 256; pc += 16) {
    Registers registers;
    for (std::size_t i = 0; i < kRegisters; ++i) registers.set(i, 8 * i);
    registers.set(kRip, pc);
    must(unwind(registers, code, memory).frames.size() <= 1024);
  }
}

}  // namespace

void fuzz(std::string_view text) {
  using namespace hwprof;

  std::string bytes(text);
  if (bytes.size() > sizeof(Elf64_Ehdr)) {
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_phoff %= bytes.size();
    header.e_shoff %= bytes.size();
    std::memcpy(bytes.data(), &header, sizeof header);
  }
  UniqueFd file = file_of(bytes);
  {
    const ElfFile elf(file.get());
    elf.interpreter();
    elf.needed();
    elf.run_path();
    elf.soname();
    elf.build_id();
    elf.code_bytes();
    elf.segments();
    elf.constant_at("OpenBLAS");
  }
  read_routines(file_of(bytes), "/lib/blas.so");
  unwind_by(file.get(), bytes);
  auto code = ElfCode::open(std::move(file), "/lib/blas.so");
  if (!code) return;
  for (const std::uint64_t at : {0, 64, 4096}) {
    code->symbol(at);
    code->line(at);
    must(code->code(at, 256).bytes.size() <= 512);
  }
}
