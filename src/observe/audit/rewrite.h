// Words of a mapped file that the audit library writes anew: addresses of routines, and that of the
// function which runs first of it. Pages may be read-only once the loader is done with them.
#pragma once

#include <elf.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "src/observe/audit/elf_object.h"

namespace hwprof::observe::audit {

// Of the whole page.
inline bool protect(const ElfObject& object, const u64* word, long protection) {
  const long page = static_cast<long>(object.page_of(reinterpret_cast<u64>(word)));
  return system_call(SYS_mprotect, page, static_cast<long>(object.page_bytes()), protection) == 0;
}

inline bool write_word(const ElfObject& object, u64* word, u64 value) {
  const bool sealed = object.is_sealed(reinterpret_cast<u64>(word));
  if (sealed && !protect(object, word, PROT_READ | PROT_WRITE)) return false;
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
  if (sealed) protect(object, word, PROT_READ);
  return true;
}

// Where the file says which function runs first of it; nullptr: it has none.
inline u64* start_of(const ElfObject& object) {
  return object.start() != nullptr ? const_cast<u64*>(&object.start()->d_un.d_ptr) : nullptr;
}

}  // namespace hwprof::observe::audit
