// libhwprof-audit.so: the dynamic loader (rtld-audit(7)) asks it about every symbol that it binds.
// Those of BLAS routines are bound to a stub of ours, which counts and jumps on. Works for programs
// that bind at load, for dlopen() and for dlsym(); la_x86_64_gnu_pltenter() would not.
//
// It lives inside a program that must not notice it:
//   - no library below it, the C library neither: it would be loaded a second time. System calls
//     are made by hand, no thread-local variables, no memory from the heap;
//   - compiled to use general registers only, so that arguments in vector registers stay as they
//     are; the other argument registers are saved;
//   - the stub jumps, never calls: arguments on the stack, the stack of an exception, setjmp() and
//     the caller that the routine sees are what they are without it. Therefore it does not see a
//     call end, and there is no time inside calls;
//   - stubs are part of the library: no code is written at run time, which SELinux forbids some.
// Stubs begin with the landing mark of indirect jumps (CET, BTI).
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "src/observe/calls/audit_table.h"
#include "src/observe/calls/blas_routine.h"
#include "src/observe/calls/call_shape.h"

using namespace hwprof::observe;
using namespace hwprof::observe::audit;

extern "C" {
// Stub i lies at hwprof_stubs + i * kStubBytes.
extern const char hwprof_stubs[];
// Counts a call of stub `stub`; returns the address to go on at.
__attribute__((visibility("hidden"), used)) const void* hwprof_count_call(u64 stub,
                                                                          const u64* arguments);
}

namespace {

constexpr u64 kStubBytes = 16;

#if defined(__x86_64__)
// r11 is free at a call; r10, rax and the six argument registers are not. 8 pushes and the return
// address leave the stack 8 off: one more makes it 16.
asm(R"(
  .text
  .balign 16
  .globl hwprof_stubs
  .hidden hwprof_stubs
  .type hwprof_stubs, @function
hwprof_stubs:
  .set stub, 0
  .rept 1024
  .balign 16
  endbr64
  movl $stub, %r11d
  jmp hwprof_count_and_go
  .set stub, stub + 1
  .endr
  .size hwprof_stubs, . - hwprof_stubs

  .type hwprof_count_and_go, @function
hwprof_count_and_go:
  .cfi_startproc
  pushq %rax
  .cfi_adjust_cfa_offset 8
  pushq %r10
  .cfi_adjust_cfa_offset 8
  pushq %r11
  .cfi_adjust_cfa_offset 8
  pushq %r9
  .cfi_adjust_cfa_offset 8
  pushq %r8
  .cfi_adjust_cfa_offset 8
  pushq %rcx
  .cfi_adjust_cfa_offset 8
  pushq %rdx
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  movl %r11d, %edi
  movq %rsp, %rsi
  call hwprof_count_call
  movq %rax, %r11
  popq %rdi
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdx
  .cfi_adjust_cfa_offset -8
  popq %rcx
  .cfi_adjust_cfa_offset -8
  popq %r8
  .cfi_adjust_cfa_offset -8
  popq %r9
  .cfi_adjust_cfa_offset -8
  leaq 8(%rsp), %rsp
  .cfi_adjust_cfa_offset -8
  popq %r10
  .cfi_adjust_cfa_offset -8
  popq %rax
  .cfi_adjust_cfa_offset -8
  jmp *%r11
  .cfi_endproc
  .size hwprof_count_and_go, . - hwprof_count_and_go
)");

long system_call(long number, long a, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

// Places of the integer arguments behind the saved registers: six of them, three more registers and
// the return address, then what the caller has put on the stack.
constexpr u32 place_of(signed char position) {
  return static_cast<u32>(position < 6 ? position : position + 4);
}

u64 thread_pointer() {
  u64 pointer;
  asm("movq %%fs:0, %0" : "=r"(pointer));
  return pointer;
}
#elif defined(__aarch64__)
// x16 and x17 are free at a call, since a linker may put a veneer there. x8 points to a result in
// memory; x18 is the platform's.
asm(R"(
  .text
  .balign 16
  .globl hwprof_stubs
  .hidden hwprof_stubs
  .type hwprof_stubs, %function
hwprof_stubs:
  .set stub, 0
  .rept 1024
  .balign 16
  hint #34
  mov w16, #stub
  b hwprof_count_and_go
  .set stub, stub + 1
  .endr
  .size hwprof_stubs, . - hwprof_stubs

  .type hwprof_count_and_go, %function
hwprof_count_and_go:
  .cfi_startproc
  stp x0, x1, [sp, #-96]!
  .cfi_adjust_cfa_offset 96
  stp x2, x3, [sp, #16]
  stp x4, x5, [sp, #32]
  stp x6, x7, [sp, #48]
  stp x8, x9, [sp, #64]
  stp x29, x30, [sp, #80]
  .cfi_rel_offset 29, 80
  .cfi_rel_offset 30, 88
  mov w0, w16
  mov x1, sp
  bl hwprof_count_call
  mov x16, x0
  ldp x2, x3, [sp, #16]
  ldp x4, x5, [sp, #32]
  ldp x6, x7, [sp, #48]
  ldp x8, x9, [sp, #64]
  ldp x29, x30, [sp, #80]
  .cfi_restore 29
  .cfi_restore 30
  ldp x0, x1, [sp], #96
  .cfi_adjust_cfa_offset -96
  br x16
  .cfi_endproc
  .size hwprof_count_and_go, . - hwprof_count_and_go
)");

long system_call(long number, long a, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc #0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory");
  return x0;
}

// All that matter are in registers.
constexpr u32 place_of(signed char position) { return static_cast<u32>(position); }

u64 thread_pointer() {
  u64 pointer;
  asm("mrs %0, tpidr_el0" : "=r"(pointer));
  return pointer;
}
#else
#error "no stubs for this architecture"
#endif
static_assert(kStubs == 1024, "the stubs above count to it");

struct Stub {
  const void* target;
  Site* site;
  Routine routine;
};

Table* table = nullptr;  // nullptr: nothing is counted, every symbol is bound as it would be
Stub stubs[kStubs];
u32 stub_count = 0;  // written under the loader's lock

u32 load(const u32& value) { return __atomic_load_n(&value, __ATOMIC_ACQUIRE); }
void add(u64& value, u64 amount = 1) { __atomic_fetch_add(&value, amount, __ATOMIC_RELAXED); }
bool claim(u32& state) {
  u32 expected = kFree;
  return __atomic_compare_exchange_n(&state, &expected, kWriting, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED);
}
void publish(u32& state) { __atomic_store_n(&state, kReady, __ATOMIC_RELEASE); }

// False when it does not fit.
bool copy_text(char* to, u32 room, const char* from) {
  for (u32 i = 0; i < room; ++i) {
    to[i] = from[i];
    if (from[i] == '\0') return true;
  }
  return false;
}

u32 length_of(const char* text) {
  u32 length = 0;
  while (text[length] != '\0') ++length;
  return length;
}

// Finds the slot that `is_same` accepts, or makes one. `count` when there is no room.
template <class Slot, class Same, class Fill>
u32 find_or_make(Slot* slots, u32 count, Same is_same, Fill fill) {
  for (u32 i = 0; i < count; ++i) {
    if (load(slots[i].state) == kFree && claim(slots[i].state)) {
      fill(slots[i]);
      publish(slots[i].state);
      return i;
    }
    if (load(slots[i].state) == kReady && is_same(slots[i])) return i;
  }
  return count;
}

u32 find_file(Table& in, const char* path) {
  if (length_of(path) >= kPathBytes) return kFiles;
  return find_or_make(
      in.files, kFiles, [&](const File& file) { return routine_names::equal(file.path, path); },
      [&](File& file) { copy_text(file.path, kPathBytes, path); });
}

Site* find_site(Table& in, const char* symbol, const char* caller_path, const char* library_path) {
  const u32 caller = find_file(in, caller_path), library = find_file(in, library_path);
  if (caller == kFiles || library == kFiles || length_of(symbol) >= kSymbolBytes) return nullptr;
  const u32 place = find_or_make(
      in.sites, kSites,
      [&](const Site& site) {
        return site.caller == caller && site.library == library &&
               routine_names::equal(site.symbol, symbol);
      },
      [&](Site& site) {
        site.caller = caller;
        site.library = library;
        copy_text(site.symbol, kSymbolBytes, symbol);
      });
  return place < kSites ? &in.sites[place] : nullptr;
}

// Pages that could be read once, each at the place that its number gives. What stands there is a
// number of a page, and nothing else: threads that write at the same time do no harm.
constexpr u64 kKnownPages = 256;
u64 known_pages[kKnownPages];

// By a system call that copies from there and then fails whatever it finds, and that no filter
// forbids, since every thread makes it (as abseil's AddressIsReadable()).
bool is_readable(u64 address) {
  constexpr u64 kPageBits = 12, kSetBytes = 8;
  constexpr long kNoSuchOperation = -1, kFault = -14;
  const u64 page = address >> kPageBits;
  u64& known = known_pages[page % kKnownPages];
  if (__atomic_load_n(&known, __ATOMIC_RELAXED) == page) return true;
  if (system_call(SYS_rt_sigprocmask, kNoSuchOperation,
                  static_cast<long>(address & ~(kSetBytes - 1)), 0, kSetBytes) == kFault) {
    return false;
  }
  __atomic_store_n(&known, page, __ATOMIC_RELAXED);
  return true;
}

// Only a pointer that is one is followed: a function that happens to have a BLAS routine's name and
// other arguments must not crash in our hands.
bool may_be_pointer(u64 address, u64 alignment) {
  return address >= 65536 && (address >> 47) == 0 && address % alignment == 0 &&
         is_readable(address);
}

bool shape_of(const Routine& routine, const u64* arguments, Shape& shape) {
  const auto letter = [&](signed char position, unsigned char& value) {
    const u64 argument = arguments[place_of(position)];
    if (routine.by_reference && !may_be_pointer(argument, 1)) return false;
    value = routine.by_reference ? *reinterpret_cast<const unsigned char*>(argument)
                                 : static_cast<unsigned char>(argument);
    return true;
  };
  const auto dimension = [&](signed char position, long& value) {
    const u64 argument = arguments[place_of(position)];
    value = routine.wide ? static_cast<long>(argument) : static_cast<int>(argument);
    if (!routine.by_reference) return true;
    if (!may_be_pointer(argument, routine.wide ? 8 : 4)) return false;
    value = routine.wide ? *reinterpret_cast<const long*>(argument)
                         : *reinterpret_cast<const int*>(argument);
    return true;
  };
  return read_shape(routine, letter, dimension, shape);
}

void count_shape(Shard& shard, const Shape& shape) {
  constexpr u32 kTries = 8;
  u64 hash = (shape.m * 0x9e3779b97f4a7c15) ^ (shape.n * 0xc2b2ae3d27d4eb4f) ^
             (shape.k * 0x165667b19e3779f9);
  hash ^= (hash >> 32) ^ shape.form;
  for (u32 i = 0; i < kTries; ++i) {
    CountedShape& slot = shard.shapes[(hash + i) % kShapes];
    u32 state = load(slot.state);
    if (state == kFree && claim(slot.state)) {
      slot.shape = shape;
      publish(slot.state);
      state = kReady;
    }
    // Another thread may be about to write the same shape: it then has two slots, which are added
    // up when the table is read.
    if (state == kReady && slot.shape == shape) return add(slot.count);
  }
  add(shard.others);
}

struct Place {
  char path[64];
  u64 nonce;
};

// "/proc/PID/fd/N:NONCE"
bool parse_place(const char* text, Place& place) {
  u32 length = 0;
  for (; text[length] != ':'; ++length) {
    if (text[length] == '\0' || length + 1 >= sizeof(place.path)) return false;
    place.path[length] = text[length];
  }
  place.path[length] = '\0';
  place.nonce = 0;
  for (const char* digit = text + length + 1; *digit != '\0'; ++digit) {
    if (*digit < '0' || *digit > '9') return false;
    place.nonce = place.nonce * 10 + static_cast<u64>(*digit - '0');
  }
  return true;
}

void open_table(const Place& place) {
  const long fd = system_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(place.path),
                              O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return;
  struct stat status;
  status.st_mode = 0;  // the rest is not read without it; clearing it all may call memset()
  const bool fits = system_call(SYS_fstat, fd, reinterpret_cast<long>(&status)) == 0 &&
                    S_ISREG(status.st_mode) && status.st_size == static_cast<long>(sizeof(Table));
  const long address =
      fits ? system_call(SYS_mmap, 0, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
           : -1;
  system_call(SYS_close, fd);
  if (address < 0 && address > -4096) return;
  auto* mapped = reinterpret_cast<Table*>(address);
  if (mapped->magic != kMagic || mapped->nonce != place.nonce) {
    system_call(SYS_munmap, address, sizeof(Table));
    return;
  }
  table = mapped;
  add(table->processes);
}

// Constructors get the environment from the dynamic loader, before la_version() is called.
__attribute__((constructor)) void start(int /*count*/, char** /*arguments*/, char** environment) {
  if (environment == nullptr) return;
  for (; *environment != nullptr; ++environment) {
    Place place;
    const char* value = routine_names::after(*environment, kVariable);
    if (value != nullptr && parse_place(value, place)) return open_table(place);
  }
}

// Of the program: the loader's own name for it is empty.
char own_path[kPathBytes];

void find_own_path() {
  const long length =
      system_call(SYS_readlinkat, AT_FDCWD, reinterpret_cast<long>("/proc/self/exe"),
                  reinterpret_cast<long>(own_path), sizeof(own_path) - 1);
  own_path[length > 0 ? length : 0] = '\0';
}

}  // namespace

const void* hwprof_count_call(u64 number, const u64* arguments) {
  const Stub& stub = stubs[number];
  Shard& shard = stub.site->shards[(thread_pointer() >> 12) % kShards];
  Shape shape;
  if (shape_of(stub.routine, arguments, shape)) {
    count_shape(shard, shape);
  } else {
    add(shard.others);
  }
  return stub.target;
}

extern "C" {

__attribute__((visibility("default"))) unsigned la_version(unsigned offered) {
  if (table == nullptr) return 0;  // the loader leaves us out
  find_own_path();
  return offered < LAV_CURRENT ? offered : LAV_CURRENT;
}

__attribute__((visibility("default"))) unsigned la_objopen(link_map* object, Lmid_t /*space*/,
                                                           uintptr_t* cookie) {
  *cookie = reinterpret_cast<uintptr_t>(object);
  return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

__attribute__((visibility("default"))) uintptr_t la_symbind64(Elf64_Sym* symbol, unsigned /*index*/,
                                                              uintptr_t* caller, uintptr_t* library,
                                                              unsigned* flags, const char* name) {
  // Nobody needs the slow way of binding for our sake.
  *flags |= LA_SYMB_NOPLTENTER | LA_SYMB_NOPLTEXIT;
  const uintptr_t address = symbol->st_value;
  Routine routine;
  Table* const counts = table;
  if (counts == nullptr || address == 0 || *caller == *library) return address;
  if (!find_routine(name, routine)) return address;

  const auto path_of = [](uintptr_t cookie) {
    const char* path = reinterpret_cast<const link_map*>(cookie)->l_name;
    return path != nullptr && *path != '\0' ? path : own_path;
  };
  Site* site = find_site(*counts, name, path_of(*caller), path_of(*library));
  if (site == nullptr) {
    add(counts->unwatched);
    return address;
  }
  const auto* target = reinterpret_cast<const void*>(address);
  for (u32 i = 0; i < stub_count; ++i) {
    if (stubs[i].site == site && stubs[i].target == target) {
      return reinterpret_cast<uintptr_t>(hwprof_stubs + i * kStubBytes);
    }
  }
  if (stub_count == kStubs) {
    add(counts->unwatched);
    return address;
  }
  stubs[stub_count] = {target, site, routine};
  return reinterpret_cast<uintptr_t>(hwprof_stubs + stub_count++ * kStubBytes);
}

}  // extern "C"
