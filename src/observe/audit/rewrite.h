// Words of a mapped file that the audit library writes anew: addresses of routines, and that of the
// function which runs first of it. Pages may be read-only once the loader is done with them.
#pragma once

#include <elf.h>
#include <sys/mman.h>

#include "src/observe/audit/elf_object.h"
#include "src/observe/audit/system_call.h"

namespace hwprof::observe::audit {

// Of the whole pages.
inline bool protect(const ElfObject& object, const u64* word, long protection) {
  const u64 first = object.page_of(reinterpret_cast<u64>(word)),
            last = object.page_of(reinterpret_cast<u64>(word) + sizeof(*word) - 1);
  return system_call(SYS_mprotect, static_cast<long>(first),
                     static_cast<long>(last - first + object.page_bytes()), protection) == 0;
}

inline long protection_of(u32 flags) {
  return ((flags & PF_R) != 0 ? PROT_READ : 0) | ((flags & PF_W) != 0 ? PROT_WRITE : 0) |
         ((flags & PF_X) != 0 ? PROT_EXEC : 0);
}

// What is not to be written is left as it was found: sealed data, and read-only data and code that
// the loader has written all the same (DT_TEXTREL). There a word need not be aligned.
inline bool write_word(const ElfObject& object, u64* word, u64 value) {
  const u32 flags = object.page_flags(reinterpret_cast<u64>(word));
  if (flags == 0) return false;
  const bool fixed = (flags & PF_W) == 0;
  if (fixed && !protect(object, word, protection_of(flags | PF_W))) return false;
  if (reinterpret_cast<u64>(word) % sizeof(*word) == 0) {
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
  } else {
    __builtin_memcpy(word, &value, sizeof(value));
  }
  if (fixed) protect(object, word, protection_of(flags));
  return true;
}

// Where the file says which function runs first of it; nullptr: it has none.
inline u64* start_of(const ElfObject& object) {
  return object.start() != nullptr ? const_cast<u64*>(&object.start()->d_un.d_ptr) : nullptr;
}

}  // namespace hwprof::observe::audit
