// What an ELF file of this machine's architecture has in its header, and how a handle of one ends.
#pragma once

#include <gelf.h>
#include <libelf.h>

namespace hwprof::observe {

#if defined(__x86_64__)
inline constexpr GElf_Half kNativeMachine = EM_X86_64;
#elif defined(__aarch64__)
inline constexpr GElf_Half kNativeMachine = EM_AARCH64;
#else
inline constexpr GElf_Half kNativeMachine = EM_NONE;
#endif

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};

}  // namespace hwprof::observe
