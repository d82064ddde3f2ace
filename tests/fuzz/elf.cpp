// A file that claims to be ELF, or, from a first byte on, one whose header is right.
#include <algorithm>
#include <cstring>

#include "src/observe/calls/routine_file.h"
#include "src/observe/elf/elf_file.h"
#include "src/observe/elf/symbols.h"
#include "tests/fuzz/fuzz.h"

void fuzz(std::string_view text) {
  using namespace hwprof;
  using namespace hwprof::observe;
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
  auto code = ElfCode::open(std::move(file), "/lib/blas.so");
  if (!code) return;
  for (const std::uint64_t at : {0, 64, 4096}) {
    code->symbol(at);
    code->line(at);
    must(code->code(at, 256).bytes.size() <= 512);
  }
}
