// The stubs that count: what each one calls, and for whom.
//
// A binding that is but called has a stub for each file that calls. An address that a program keeps
// (in its data, or by dlsym()) is one stub of the routine, whoever asks: C has pointers to one
// function equal. Whose call of it that is the return address tells; of a file that has not asked
// for the routine itself, it counts as of the one that asked first.
//
// Where a file was closed another one may come to lie, as plugins and compiled kernels do: an
// address alone is no routine, and a place in memory no caller.
#pragma once

#include "src/observe/audit/elf_object.h"
#include "src/observe/audit/lock.h"
#include "src/observe/audit/onednn.h"
#include "src/observe/audit/table.h"
#include "src/observe/routines/blas_routine.h"

extern "C" {
// Stub i lies at hwprof_stubs + i * kStubBytes.
extern const char hwprof_stubs[];
}

namespace hwprof::observe::audit {

constexpr u64 kStubBytes = 16;

static_assert(kStubs == 1024, "the stubs above count to it");

struct Stub {
  const void* target;  // nullptr: it is free
  Site* site;
  u32 stack_arguments;
  bool tells;  // what a call is on: `onednn` is there, or it is one of FFTW
  bool exact;  // the routine of which calls are counted instruction by instruction
  bool kept;
  u32 first, next;       // of those that are kept as one address; `next` 0: none
  ElfObject::Span code;  // of the file that calls; nothing: another lies there now
  Routine routine;
  OneDnn onednn;
};

inline Stub stubs[kStubs];
inline u32 stubs_lock = 0;
inline u32 stub_count = 0;  // written by who holds the lock

inline u64 address_of(u32 stub) { return reinterpret_cast<u64>(hwprof_stubs) + stub * kStubBytes; }
inline bool is_stub(u64 address) {
  return address - reinterpret_cast<u64>(hwprof_stubs) < kStubs * kStubBytes;
}

// A binding that is but called. `stub_count`: there is none yet.
inline u32 find_stub(const Site* site, const void* target) {
  u32 i = 0;
  while (i < stub_count && (stubs[i].site != site || stubs[i].target != target || stubs[i].kept))
    ++i;
  return i;
}

// The one whose address stands for what `library` has at `target` now, as `site` says. Of another
// file, or of another function of it, that lay there before nobody asks any more. `stub_count`:
// there is none yet.
inline u32 first_kept(const void* target, const Site& site, const ElfObject& library) {
  const auto is_there = [&](const Site& known) {
    return known.library == site.library &&
           (routine_names::equal(known.symbol, site.symbol) ||
            library.defines(known.symbol, reinterpret_cast<u64>(target)));
  };
  u32 i = 0;
  while (i < stub_count && (!stubs[i].kept || stubs[i].first != i || stubs[i].target != target ||
                            !is_there(*stubs[i].site)))
    ++i;
  return i;
}

// Of those with the address of `first`, which may be `stub_count`: there is none yet.
inline u32 find_kept(const Site* site, u32 first) {
  u32 i = first;
  while (i < stub_count && stubs[i].site != site)
    i = stubs[i].next != 0 ? stubs[i].next : stub_count;
  return i;
}

// Where nothing lies any more, nobody calls: a library that was closed may lie elsewhere when it
// is loaded again. Told by the memory, since the loader calls la_objclose() at the program's end,
// too, when threads may still call.
inline void free_unmapped_stubs() {
  if (load(asks_nothing) != 0) return;
  for (u32 i = 0; i < stub_count; ++i) {
    const void* target = stubs[i].target;
    if (target == nullptr || is_readable_now(reinterpret_cast<u64>(target))) continue;
    for (u32 k = i; k < stub_count; ++k) {
      if (stubs[k].target == target) stubs[k].target = nullptr, stubs[k].next = 0;
    }
  }
}

// To be filled; kStubs: there is no room.
inline u32 free_stub() {
  if (stub_count < kStubs) return stub_count;
  free_unmapped_stubs();
  u32 i = 1;  // 0 is never the next one of another
  while (i < kStubs && stubs[i].target != nullptr) ++i;
  return i;
}

// While a program calls: who looks between two of these takes another caller of the same routine.
inline void set_code(Stub& stub, const ElfObject::Span& code) {
  if (stub.code.begin == code.begin && stub.code.bytes == code.bytes) return;
  __atomic_store_n(&stub.code.bytes, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&stub.code.begin, code.begin, __ATOMIC_RELEASE);
  __atomic_store_n(&stub.code.bytes, code.bytes, __ATOMIC_RELEASE);
}

// A file was loaded there: what called from there before is gone.
inline void forget_callers(const ElfObject::Span& loaded) {
  if (stub_count == 0 || !take(stubs_lock)) return;
  for (u32 i = 0; i < stub_count; ++i) {
    if (stubs[i].code.overlaps(loaded)) set_code(stubs[i], {});
  }
  leave(stubs_lock);
}

// It is filled. `first`: of those with its address; `stub_count`: there is none yet.
inline void add_stub(u32 number, u32 first, const ElfObject::Span& code, bool kept) {
  Stub& added = stubs[number];
  added.first = first < stub_count ? first : number;
  added.next = 0;
  added.kept = kept;
  set_code(added, code);
  if (added.first != number) {
    u32 last = first;
    while (stubs[last].next != 0) last = stubs[last].next;
    __atomic_store_n(&stubs[last].next, number, __ATOMIC_RELEASE);
  }
  if (number == stub_count) ++stub_count;
}

inline const Stub& stub_of_call(u64 number, u64 return_address) {
  const Stub& first = stubs[number];
  const Stub* stub = &first;
  while (!stub->code.contains(return_address)) {
    const u32 next = load(stub->next);
    if (next == 0) return first;
    stub = &stubs[next];
  }
  return *stub;
}

}  // namespace hwprof::observe::audit
