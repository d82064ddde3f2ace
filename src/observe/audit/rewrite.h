// Words of a mapped file that the audit library writes anew: addresses of routines, and that of the
// function which runs first of it. Pages may be read-only once the loader is done with them.
#pragma once

#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#include "src/observe/audit/elf_object.h"
#include "src/observe/audit/system_call.h"

namespace hwprof::observe::audit {

inline bool protect(const ElfObject& object, u64 address, long protection) {
  return system_call(SYS_mprotect, static_cast<long>(object.page_of(address)),
                     static_cast<long>(object.page_bytes()), protection) == 0;
}

inline long protection_of(u32 flags) {
  return ((flags & PF_R) != 0 ? PROT_READ : 0) | ((flags & PF_W) != 0 ? PROT_WRITE : 0) |
         ((flags & PF_X) != 0 ? PROT_EXEC : 0);
}

// A page of the file that is to be written, and then left as it was found: sealed data, or
// read-only data and code that the loader has written all the same (DT_TEXTREL).
class OpenedPage {
 public:
  OpenedPage(const ElfObject& object, u64 address)
      : object_(object), address_(address), flags_(object.page_flags(address)) {
    const bool fixed = flags_ != 0 && (flags_ & PF_W) == 0;
    changed_ = fixed && protect(object_, address_, protection_of(flags_ | PF_W));
  }
  OpenedPage(const OpenedPage&) = delete;
  OpenedPage& operator=(const OpenedPage&) = delete;
  ~OpenedPage() {
    if (changed_) protect(object_, address_, protection_of(flags_));
  }
  [[nodiscard]] bool writable() const { return changed_ || (flags_ & PF_W) != 0; }

 private:
  const ElfObject& object_;
  u64 address_;
  u32 flags_;
  bool changed_;
};

// A word need not be aligned, and may lie in two pages.
inline bool write_word(const ElfObject& object, u64* word, u64 value) {
  const u64 begin = reinterpret_cast<u64>(word), last = begin + sizeof(*word) - 1;
  const OpenedPage first(object, begin);
  if (begin % sizeof(*word) == 0) {
    if (first.writable()) __atomic_store_n(word, value, __ATOMIC_RELEASE);
    return first.writable();
  }
  // Of one page twice: what the second finds and leaves is what the first has found.
  const OpenedPage second(object, last);
  if (!first.writable() || !second.writable()) return false;
  __builtin_memcpy(word, &value, sizeof(value));
  return true;
}

inline const link_map* first_of(const link_map* object) {
  while (object->l_prev != nullptr) object = object->l_prev;
  return object;
}

// Of the function `name` there; nullptr: not known.
inline const link_map* owner_of(const link_map* object, const char* name, u64 address,
                                const ProgramHeaders& own) {
  const auto owns = [&](const ElfObject& file) {
    return file.has_segments() ? file.contains(address) : file.defines(name, address);
  };
  object = first_of(object);
  while (object != nullptr && !owns(ElfObject(object, own))) object = object->l_next;
  return object;
}

// Of `object`, which is `caller`, and where the loader has copied it. False: not everywhere.
inline bool write_address(const ElfObject& object, const link_map* caller, u64 place, u64 bound,
                          const ProgramHeaders& own) {
  auto* word = reinterpret_cast<u64*>(place);
  const u64 address = *word;
  if (!write_word(object, word, bound)) return false;
  const link_map* program = first_of(caller);
  if (*program->l_name == '\0' && program != caller) {
    const ElfObject copies(program, own);
    auto* copy = reinterpret_cast<u64*>(copies.copy_of(object, place));
    if (copy != nullptr && *copy == address && !write_word(copies, copy, bound)) return false;
  }
  // The threads that are there may have their copies.
  return !object.is_thread_local(place);
}

// Where the file says which function runs first of it; nullptr: it has none.
inline u64* start_of(const ElfObject& object) {
  return object.start() != nullptr ? const_cast<u64*>(&object.start()->d_un.d_ptr) : nullptr;
}

}  // namespace hwprof::observe::audit
