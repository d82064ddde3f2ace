// The stubs that count: what each one calls, and for whom.
//
// A binding that is but called has a stub for each file that calls. An address that a program keeps
// (in its data, or by dlsym()) is one stub of the routine, whoever asks: C has pointers to one
// function equal. Whose call of it that is the return address tells; of a file that has not asked
// for the routine itself, it counts as of the one that asked first.
#pragma once

#include "src/observe/audit/elf_object.h"
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
  u32 next;              // of those that are kept, with the same target; 0: none
  ElfObject::Span code;  // of the file that calls
  Routine routine;
  OneDnn onednn;
};

inline Stub stubs[kStubs];
inline u32 stub_count = 0;  // written by who holds the lock

inline u64 address_of(u32 stub) { return reinterpret_cast<u64>(hwprof_stubs) + stub * kStubBytes; }
inline bool is_stub(u64 address) {
  return address - reinterpret_cast<u64>(hwprof_stubs) < kStubs * kStubBytes;
}

// `stub_count`: there is none yet.
inline u32 find_stub(const Site* site, const void* target, bool kept) {
  u32 i = 0;
  while (i < stub_count &&
         (stubs[i].site != site || stubs[i].target != target || stubs[i].kept != kept))
    ++i;
  return i;
}

inline u32 first_kept(const void* target) {
  u32 i = 0;
  while (!stubs[i].kept || stubs[i].target != target) ++i;
  return i;
}

// Of those that are kept with one target, each lies behind the one before. `count`: there is none.
inline u32 last_kept(const void* target, u32 count) {
  u32 last = count;
  for (u32 i = 0; i < count; ++i) {
    if (stubs[i].kept && stubs[i].target == target) last = i;
  }
  return last;
}

// Where nothing lies any more, nobody calls: a library that was closed lies elsewhere when it is
// loaded again. Told by the memory, since the loader calls la_objclose() at the program's end, too,
// when threads may still call.
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
inline u32 free_stub(const void* target, bool kept) {
  if (stub_count < kStubs) return stub_count;
  free_unmapped_stubs();
  const u32 last = kept ? last_kept(target, kStubs) : kStubs;
  u32 i = last < kStubs ? last + 1 : 0;
  while (i < kStubs && stubs[i].target != nullptr) ++i;
  return i;
}

// It is filled.
inline void add_stub(u32 number, const ElfObject::Span& code, bool kept) {
  Stub& added = stubs[number];
  added.code = code;
  added.kept = kept;
  const u32 last = kept ? last_kept(added.target, number) : number;
  if (last != number) __atomic_store_n(&stubs[last].next, number, __ATOMIC_RELEASE);
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
