// Words of a mapped file that the audit library writes anew: addresses of routines, and that of the
// function which runs first of it. Pages may be read-only once the loader is done with them.
#pragma once

#include <elf.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "src/observe/audit/elf_object.h"

namespace hwprof::observe::audit {

// Of the whole page, whatever its size: an address that begins none is refused.
inline bool protect(const u64* word, long protection) {
  constexpr long kRefused = -22;  // EINVAL
  constexpr u64 kLeast = 4096, kMost = 65536;
  for (u64 bytes = kLeast; bytes <= kMost; bytes *= 4) {
    const long page = static_cast<long>(reinterpret_cast<u64>(word) & ~(bytes - 1));
    const long result = system_call(SYS_mprotect, page, static_cast<long>(bytes), protection);
    if (result != kRefused) return result == 0;
  }
  return false;
}

inline bool write_word(const ElfObject& object, u64* word, u64 value) {
  const bool sealed = object.is_sealed(reinterpret_cast<u64>(word));
  if (sealed && !protect(word, PROT_READ | PROT_WRITE)) return false;
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
  if (sealed) protect(word, PROT_READ);
  return true;
}

// Where the file says which function runs first of it; nullptr: it has none.
inline u64* start_of(const ElfObject& object) {
  return object.start() != nullptr ? const_cast<u64*>(&object.start()->d_un.d_ptr) : nullptr;
}

}  // namespace hwprof::observe::audit
