// Lets the heap of the program grow and shrink as it would alone.
//
// malloc() of glibc 2.32 and later moves the program's break where its library knows that it is the
// program's own (`__libc_initial`). The loader says so (__libc_early_init()) when it has relocated
// all, itself last: and for that it allocates where an auditor asks for symbols (glibc 2.36:
// elf/rtld.c, elf/dl-reloc.c). malloc() then begins as that of a second C library in the program,
// never moves the break, and gives no freed memory back. So we say it, when the file is mapped.
//
// The variable has no name: it is the one byte that __libc_early_init() writes and sbrk() reads.
// Where not exactly one is found nothing is written.
#pragma once

#include "src/observe/audit/elf_object.h"

namespace hwprof::observe::audit {

// A byte of a file that its code names by its distance.
struct NamedByte {
  u64 address;  // 0: none
  bool written;
};

#if defined(__x86_64__)
inline constexpr u64 kSmallestInstruction = 1, kNamingBytes = 7;

// `code` has kNamingBytes; it may be no beginning of an instruction.
inline NamedByte named_byte(const unsigned char* code) {
  const bool written = code[0] == 0x88 && (code[1] & 0xc7) == 0x05;      // mov %bl, DISTANCE(%rip)
  const bool read = code[0] == 0x80 && code[1] == 0x3d && code[6] == 0;  // cmpb $0, DISTANCE(%rip)
  if (!written && !read) return {0, false};
  int distance;
  __builtin_memcpy(&distance, code + 2, sizeof distance);
  return {reinterpret_cast<u64>(code) + (written ? 6 : 7) + static_cast<u64>(distance), written};
}
#elif defined(__aarch64__)
inline constexpr u64 kSmallestInstruction = 4, kNamingBytes = 4;

// By the last instruction before it that sets its register: `adrp x1, PAGE`, `ldrb w1, [x1, #94]`.
inline NamedByte named_byte(const unsigned char* code) {
  constexpr u32 kFarthest = 8;
  const auto* instruction = reinterpret_cast<const u32*>(code);
  const bool written = *instruction >> 22 == 0xe4, read = *instruction >> 22 == 0xe5;
  if (!written && !read) return {0, false};
  const u32 base = *instruction >> 5 & 31, offset = *instruction >> 10 & 0xfff;
  for (u32 back = 1; back <= kFarthest; ++back) {
    const u32 before = *(instruction - back);
    if ((before & 0x9f000000) != 0x90000000 || (before & 31) != base) continue;
    // 21 bits with a sign: pages of 4 KiB.
    const u64 pages = (before >> 5 & 0x7ffff) << 2 | (before >> 29 & 3);
    const u64 distance = (pages ^ 0x100000) - 0x100000;
    const u64 page = reinterpret_cast<u64>(instruction - back) & ~u64{4095};
    return {page + distance * 4096 + offset, written};
  }
  return {0, false};
}
#endif

template <class Use>
void for_each_named_byte(const ElfObject::Code& code, Use use) {
  for (u64 i = 0; i + kNamingBytes <= code.bytes; i += kSmallestInstruction) {
    const NamedByte found = named_byte(code.begin + i);
    if (found.address != 0) use(found);
  }
}

// `__libc_initial` of a C library; nullptr: that is none, or not known.
inline unsigned char* initial_of(const ElfObject& library) {
  const ElfObject::Code tells = library.code("__libc_early_init"), asks = library.code("sbrk");
  u64 initial = 0;
  bool one = true;
  for_each_named_byte(tells, [&](const NamedByte& written) {
    if (!written.written || !library.is_data(written.address)) return;
    for_each_named_byte(asks, [&](const NamedByte& read) {
      if (read.written || read.address != written.address) return;
      one = one && (initial == 0 || initial == read.address);
      initial = read.address;
    });
  });
  return one ? reinterpret_cast<unsigned char*>(initial) : nullptr;
}

// Of a file of the program that is mapped and not yet relocated.
inline void allow_break(const ElfObject& file) {
  unsigned char* initial = initial_of(file);
  if (initial != nullptr) *initial = 1;
}

}  // namespace hwprof::observe::audit
