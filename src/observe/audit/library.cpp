// libhwprof-audit.so: the dynamic loader (rtld-audit(7)) asks it about every symbol that it binds.
// Those of BLAS routines are bound to a stub of ours, which counts and jumps on. Works for programs
// that bind at load, for dlopen() and for dlsym(); la_x86_64_gnu_pltenter() would not.
//
// It lives inside a program that must not notice it:
//   - no library below it, the C library neither: it would be loaded a second time. System calls
//     are made by hand, no thread-local variables, no memory from the heap;
//   - compiled to use general registers only, so that arguments in vector registers stay as they
//     are; the other argument registers are saved;
//   - the stub calls the routine with a copy of the arguments on the stack, and as many as there
//     are: what lies above them need not be memory. All that it knows of an open call is in its own
//     frame, so that a call that does not return leaves nothing behind;
//   - stubs are part of the library: no code is written at run time, which SELinux forbids some.
// Stubs begin with the landing mark of indirect jumps (CET, BTI).
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "src/observe/audit/elf_object.h"
#include "src/observe/audit/float_flags.h"
#include "src/observe/audit/system_call.h"
#include "src/observe/audit/table.h"
#include "src/observe/routines/blas_routine.h"

#if defined(__x86_64__)
#include "src/observe/audit/stubs_x86.h"
#elif defined(__aarch64__)
#include "src/observe/audit/stubs_a64.h"
#else
#error "no stubs for this architecture"
#endif
#include "src/observe/audit/arguments.h"
#include "src/observe/audit/call_place.h"
#include "src/observe/audit/dladdr.h"
#include "src/observe/audit/exact_call.h"
#include "src/observe/audit/fftw.h"
#include "src/observe/audit/filters.h"
#include "src/observe/audit/lock.h"
#include "src/observe/audit/module_calls.h"
#include "src/observe/audit/named_routine.h"
#include "src/observe/audit/onednn.h"
#include "src/observe/audit/open_table.h"
#include "src/observe/audit/operands.h"
#include "src/observe/audit/others.h"
#include "src/observe/audit/own_path.h"
#include "src/observe/audit/prepared.h"
#include "src/observe/audit/program_break.h"
#include "src/observe/audit/rewrite.h"
#include "src/observe/audit/slots.h"
#include "src/observe/audit/stub.h"
#include "src/observe/audit/thread_number.h"

using namespace hwprof::observe;
using namespace hwprof::observe::audit;

namespace {
struct OpenCall;
}

extern "C" {
// Counts a call of stub `number`, and copies its arguments on the stack; returns the routine.
__attribute__((visibility("hidden"), used)) const void* hwprof_enter_call(OpenCall* call,
                                                                          u64 number,
                                                                          u64* arguments,
                                                                          u64* stack_arguments);
__attribute__((visibility("hidden"), used)) void hwprof_leave_call(const OpenCall* call,
                                                                   u64 result);
}

namespace {

// Words of arguments that a stub's frame has room for.
constexpr u32 kStackArguments = 18;
static_assert(kMostArguments <= kArgumentRegisters + kStackArguments);

// In the frame of the stub.
struct OpenCall {
  const Stub* stub;
  CountedShape* counted;
  ModuleCalls* in_module;  // nullptr: none that is known
  u64 began;
  FloatFlags flags;
};
static_assert(sizeof(OpenCall) <= 64, "the stubs leave so much room");

Table* table = nullptr;  // nullptr: nothing is counted, every symbol is bound as it would be
u32 pending_lock = 0;

void note_thread() {
  const u32 thread = thread_mark(), first = load(table->first_thread);
  if (thread != 0 && first == thread) return;
  u32 none = 0;
  if (thread != 0 && first == 0 &&
      __atomic_compare_exchange_n(&table->first_thread, &none, thread, false, __ATOMIC_RELAXED,
                                  __ATOMIC_RELAXED)) {
    return;
  }
  if (load(table->more_threads) == 0) __atomic_store_n(&table->more_threads, 1, __ATOMIC_RELAXED);
}

void record(const OpenCall& call, u64 ended) {
  const u64 number = __atomic_add_fetch(&table->long_calls, 1, __ATOMIC_RELAXED);
  LongCall& place = table->calls[number % kLongCalls];
  __atomic_store_n(&place.number, 0, __ATOMIC_RELEASE);
  place.began = call.began;
  place.ended = ended;
  place.site = static_cast<u32>(call.stub->site - table->sites);
  place.slot = slot_of(*table, *call.stub->site, *call.counted);
  place.thread = thread_number();
  note_place(table->places[number % kLongCalls]);
  __atomic_store_n(&place.number, number, __ATOMIC_RELEASE);
}

ProgramHeaders program_headers;

// Constructors get the environment from the dynamic loader, before la_version() is called.
__attribute__((constructor)) void start(int /*count*/, char** /*arguments*/, char** environment) {
  if (environment == nullptr) return;
  program_headers = own_headers(environment);
  for (; *environment != nullptr; ++environment) {
    TablePlace place;
    const char* value = routine_names::after(*environment, kVariable);
    if (value == nullptr || !parse_place(value, place)) continue;
    table = open_table(place);
    if (table == nullptr) return;
    process_number = static_cast<u32>(__atomic_add_fetch(&table->processes, 1, __ATOMIC_RELAXED));
    choose_clock(table->clock);
    return;
  }
}

void fill(Stub& stub, const void* target, Site* site, const Routine& routine,
          const link_map* library) {
  const u32 arguments = routine.arguments;
  stub.target = target;
  stub.site = site;
  stub.stack_arguments = arguments > kArgumentRegisters ? arguments - kArgumentRegisters : 0;
  stub.tells = routine.prepared == Prepared::kPrimitive
                   ? find_onednn(ElfObject(library, program_headers), stub.onednn)
                   : routine.prepared != Prepared::kNone;
  stub.exact = kCountsExactly && table->exact.of_region == 0 &&
               routine_names::equal(site->symbol, table->exact.name);
  stub.routine = routine;
}

// What `name` of `library` is for `caller`: a stub, or `address` itself. `kept`: as an address that
// a program may compare, and hand to others.
u64 bind(const char* name, const Routine& routine, u64 address, const link_map* caller,
         const link_map* library, bool kept) {
  const auto code = kept ? ElfObject(caller, program_headers).span() : ElfObject::Span{};
  kept = code.bytes > 0;
  Site* site = find_site(*table, name, path_of(caller), path_of(library));
  if (site == nullptr || !take(stubs_lock)) {
    add(table->unwatched);
    return address;
  }
  const auto* target = reinterpret_cast<const void*>(address);
  const u32 first =
      kept ? first_kept(target, *site, ElfObject(library, program_headers)) : stub_count;
  u32 stub = kept ? find_kept(site, first) : find_stub(site, target);
  const bool is_new = stub == stub_count;
  if (is_new) stub = free_stub();
  if (stub == kStubs) {
    add(table->unwatched);
  } else if (is_new) {
    fill(stubs[stub], target, site, routine, library);
    add_stub(stub, first, code, kept);
  } else if (kept) {
    set_code(stubs[stub], code);  // it may lie elsewhere than it did
  }
  leave(stubs_lock);
  return stub < kStubs ? address_of(stubs[stub].first) : address;
}

// Functions of the C library in whose place ours stand: 0, or ours.
bool may_be_replaced(const char* name) { return may_limit_calls(name) || is_dladdr(name); }
u64 replace(const char* name, u64 address) {
  const u64 watched = watch_filters(name, address);
  return watched != 0 ? watched : watch_dladdr(name, address);
}

bool is_own_stub(u64 address) {
  return is_stub(address) || is_other_stub(address) || is_own_filter_watch(address) ||
         address == reinterpret_cast<u64>(&hwprof_dladdr);
}

// What a function of `library` is that is no routine by that name: a stub of those that are not
// counted, or `address` itself.
u64 bind_uncounted(const char* name, u64 address, const link_map* library, bool is_blas) {
  if (!is_blas || !may_compute(name)) return address;
  const u32 file = find_file(*table, path_of(library));
  if (file == kFiles || !take(stubs_lock)) return add(table->unwatched), address;
  const u64 bound = bind_other(address, &table->files[file].others_called);
  leave(stubs_lock);
  return bound;
}

// Files that have addresses of routines in their data (-fno-plt, or in tables): the loader writes
// them without a word. By la_activity() those of the program's start are there; those of a dlopen()
// since glibc 2.41, before that they come behind it (elf/dl-open.c): there a function of ours
// stands in the place of the file's DT_INIT, the first to run when they are.
constexpr u32 kMostPending = 64;

struct Pending {
  const link_map* object;  // nullptr: free
  bool tried;              // to come before its start
  u64 start;               // its own DT_INIT, where ours stands in its place; else 0
};
Pending pending[kMostPending];
// The first version of this interface (before glibc 2.35) does not tell what RTLD_NOW binds.
bool calls_bound_unsaid = false;

using Start = void (*)(int, char**, char**);

void note_addresses(const link_map* object) {
  bool any = false;
  ElfObject(object, program_headers)
      .for_each_address(calls_bound_unsaid, [&any](const char* name, u64) {
        NamedRoutine found;
        any = any || may_be_routine(name, found) || may_be_of_blas(name) || may_be_replaced(name);
      });
  if (!any) return;
  if (!take(pending_lock)) return add(table->unwatched);
  u32 i = 0;
  while (i < kMostPending && pending[i].object != nullptr) ++i;
  if (i < kMostPending) {
    pending[i] = {object, false, 0};
  } else {
    add(table->unwatched);
  }
  leave(pending_lock);
}

struct Addresses {
  bool written = false;  // by the loader; in no file there is one that lies in another
  u64 unknown = 0;       // whose file is not found, if they are written
};

Addresses bind_addresses(const link_map* caller) {
  Addresses all;
  const ElfObject object(caller, program_headers);
  object.for_each_address(calls_bound_unsaid, [&](const char* name, u64 place) {
    NamedRoutine found;
    const u64 address = *reinterpret_cast<const u64*>(place);
    const bool may_be = may_be_routine(name, found);
    if (address == 0 || (!may_be && !may_be_of_blas(name) && !may_be_replaced(name))) return;
    const bool is_stub = is_own_stub(address);
    const link_map* library = is_stub ? nullptr : owner_of(caller, name, address, program_headers);
    all.written = all.written || is_stub || library != nullptr;
    if (may_be && !is_stub && library == nullptr) ++all.unknown;
    // In a program's own table: that asks us when it is called.
    if (library == nullptr || library == caller || *library->l_name == '\0') return;
    const ElfObject file(library, program_headers);
    if (!file.is_code(address, name)) return;
    u64 bound = address;
    if (const u64 ours = replace(name, address); ours != 0) {
      bound = ours;
    } else if (is_routine(name, address, library, program_headers, found)) {
      bound = bind(found.name, found.routine, address, caller, library, true);
    } else if (file.function(name) == address) {
      bound = bind_uncounted(name, address, library, serves_blas(file));
    }
    if (bound != address && !write_address(object, caller, place, bound, program_headers))
      add(table->unwatched);
  });
  return all;
}

void forget(Pending& file) {
  const ElfObject object(file.object, program_headers);
  // Else ours stays, and so does what it is asked for.
  if (file.start != 0 && !write_word(object, start_of(object), file.start)) return;
  file.object = nullptr;
}

template <u32 i = kMostPending - 1>
Start starter_of(u32 number);

void come_first(Pending& file) {
  file.tried = true;
  const ElfObject object(file.object, program_headers);
  u64* start = start_of(object);
  // Not sealed again: where the loader is about to write more, it does so itself.
  if (start == nullptr || !object.is_data(reinterpret_cast<u64>(start)) ||
      !protect(object, reinterpret_cast<u64>(start), PROT_READ | PROT_WRITE))
    return add(table->unwatched);
  file.start = *start;
  const auto ours = reinterpret_cast<u64>(starter_of(static_cast<u32>(&file - pending)));
  *start = ours - file.object->l_addr;
}

// What the loader has written is bound; before all else that it will write.
void bind_pending() {
  if (!take(pending_lock)) return add(table->unwatched);
  for (Pending& file : pending) {
    if (file.object == nullptr) continue;
    const Addresses found = bind_addresses(file.object);
    if (found.written || *file.object->l_name == '\0') {
      add(table->unwatched, found.unknown);
      forget(file);
    } else if (!file.tried) {
      come_first(file);
    }
  }
  leave(pending_lock);
}

void start_file(u32 number, int count, char** arguments, char** environment) {
  Pending& file = pending[number];
  const auto start = reinterpret_cast<Start>(file.object->l_addr + file.start);
  bind_pending();
  // It has but names that nobody defines, or that we find nowhere.
  if (file.object != nullptr && take(pending_lock)) {
    add(table->unwatched, bind_addresses(file.object).unknown);
    forget(file);
    leave(pending_lock);
  }
  start(count, arguments, environment);
}

template <u32 i>
Start starter_of(u32 number) {
  if constexpr (i > 0) {
    if (number != i) return starter_of<i - 1>(number);
  }
  return [](int count, char** arguments, char** environment) {
    start_file(i, count, arguments, environment);
  };
}

// `work` is cleared; nullptr: nobody tells what the object was made for.
const PreparedWork* work_of(const Stub& stub, const u64* arguments, PreparedWork& work) {
  switch (stub.routine.prepared) {
    case Prepared::kPrimitive:
      return describe(stub.onednn, reinterpret_cast<const void*>(arguments[0]), work) ? &work
                                                                                      : nullptr;
    case Prepared::kPlanner:
      describe(stub.routine.fftw, arguments, work);
      return &work;
    case Prepared::kPlan:
      return work_of_plan(*table, arguments[0]);
    default:
      return nullptr;
  }
}

// `others` where it is not known, or there is no room.
CountedShape& counted_by_work(const Stub& stub, const u64* arguments, CountedShape& others) {
  PreparedWork room;
  clear(room);
  const PreparedWork* work = work_of(stub, arguments, room);
  CountedShape* counted = work != nullptr ? counted_as(*table, *stub.site, *work) : nullptr;
  return counted != nullptr ? *counted : others;
}

// `result` is the plan that this call has made for what it is counted as; 0: it has made none.
void remember_result(const OpenCall& call, u64 result) {
  const u32 slot = slot_of(*table, *call.stub->site, *call.counted);
  if (result != 0) remember_plan(result, slot < kSlotsOfShards ? 0 : slot - kSlotsOfShards + 1);
}

// What we have told the loader to tell us of a file with each symbol: where it is, whether it has a
// BLAS.
constexpr uintptr_t kIsBlas = 1;
static_assert(alignof(link_map) > kIsBlas);
const link_map* object_of(uintptr_t cookie) {
  return reinterpret_cast<const link_map*>(cookie & ~kIsBlas);
}

}  // namespace

const void* hwprof_enter_call(OpenCall* call, u64 number, u64* arguments, u64* stack_arguments) {
  const Stub& stub = stub_of_call(number, arguments[kStackPlace - 1]);
  const u32 words = words_to_copy(stub.stack_arguments, arguments + kStackPlace);
  // Not a loop that the compiler takes for memcpy(), which there is none of.
  for (u32 i = 0; i < words; ++i) {
    stack_arguments[i] = arguments[kStackPlace + i];
  }
  Shard& shard = stub.site->shards[(thread_pointer() >> 12) % kShards];
  Shape shape;
  const bool has_shape = shape_of(stub.routine, arguments, shape);
  CountedShape& counted = has_shape    ? counted_as(shard, shape)
                          : stub.tells ? counted_by_work(stub, arguments, shard.others)
                                       : shard.others;
  const u64 before = __atomic_fetch_add(&counted.count, 1, __ATOMIC_RELAXED);
  if (has_shape && is_sampled(before, shape) && &counted != &shard.others &&
      sample_operands(stub.routine, arguments, counted)) {
    note_nan(*table, *stub.site);
  }
  note_thread();
  ModuleCalls* in_module = calls_in_module(*table, thread_number(), *stub.site, counted);
  if (in_module != nullptr) add(in_module->count);
  call->stub = &stub;
  call->counted = &counted;
  call->in_module = in_module;
  call->flags = begin_float_flags();
  const void* counter = stub.exact
                            ? counter_of(*table, *stub.site, stub.target, words,
                                         has_shape ? &shape : nullptr, arguments[kHandoverPlace])
                            : nullptr;
  call->began = counter != nullptr ? 0 : ticks();  // while it is counted no time means anything
  return counter != nullptr ? counter : stub.target;
}

void hwprof_leave_call(const OpenCall* call, u64 result) {
  const u64 ended = ticks(), lasted = ended - call->began;
  const FloatReport numbers = end_float_flags(call->flags);
  if (call->stub->routine.prepared == Prepared::kPlanner) remember_result(*call, result);
  // No clock is read from some moment on; or not that of a call that was counted exactly.
  if (ended == 0 || call->began == 0) return;
  count_numbers(numbers, lasted, call->counted->met);
  add(call->counted->ticks, lasted);
  add(call->counted->returned);
  if (call->in_module != nullptr) {
    add(call->in_module->ticks, lasted);
    add(call->in_module->returned);
  }
  if (lasted >= table->long_ticks) record(*call, ended);
}

extern "C" {

__attribute__((visibility("default"))) unsigned la_version(unsigned offered) {
  if (table == nullptr) return 0;  // the loader leaves us out
  calls_bound_unsaid = offered < 2;
  find_own_path();
  find_thread_number();
  return offered < LAV_CURRENT ? offered : LAV_CURRENT;
}

__attribute__((visibility("default"))) unsigned la_objopen(link_map* object, Lmid_t space,
                                                           uintptr_t* cookie) {
  const ElfObject file(object, program_headers);
  if (space == LM_ID_BASE) {
    allow_break(file);
    find_counter(*table, file);
    find_places(*table, object, file);
  }
  forget_callers(file.span());
  const bool is_blas = serves_blas(file);
  *cookie = reinterpret_cast<uintptr_t>(object) | (is_blas ? kIsBlas : 0);
  const u32 place = is_blas ? find_file(*table, path_of(object)) : kFiles;
  if (place < kFiles) __atomic_store_n(&table->files[place].has_blas, 1, __ATOMIC_RELAXED);
  note_addresses(object);
  return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

__attribute__((visibility("default"))) unsigned la_objclose(uintptr_t* cookie) {
  forget_places(object_of(*cookie));
  if (!take(pending_lock)) return 0;
  for (Pending& file : pending) {
    if (file.object == object_of(*cookie)) file.object = nullptr;
  }
  leave(pending_lock);
  return 0;
}

__attribute__((visibility("default"))) void la_activity(uintptr_t* /*cookie*/, unsigned activity) {
  if (activity == LA_ACT_CONSISTENT) bind_pending();
}

__attribute__((visibility("default"))) void la_preinit(uintptr_t* /*program*/) { bind_pending(); }

__attribute__((visibility("default"))) uintptr_t la_symbind64(Elf64_Sym* symbol, unsigned /*index*/,
                                                              uintptr_t* caller, uintptr_t* library,
                                                              unsigned* flags, const char* name) {
  // Nobody needs the slow way of binding for our sake.
  *flags |= LA_SYMB_NOPLTENTER | LA_SYMB_NOPLTEXIT;
  // Who has opened a file asks for a symbol of it next.
  if ((*flags & LA_SYMB_DLSYM) != 0) bind_pending();
  const uintptr_t address = symbol->st_value;
  // The address of a program's table of calls, which asks us itself, stands for the routine.
  if (symbol->st_shndx == SHN_UNDEF) return address;
  const link_map* of = object_of(*library);
  if (const u64 ours = replace(name, address); ours != 0) return ours;
  NamedRoutine found;
  if (address == 0 || *caller == *library) return address;
  const auto type = static_cast<unsigned char>(ELF64_ST_TYPE(symbol->st_info));
  if (is_routine(name, address, of, program_headers, found))
    return ElfObject(of, program_headers).is_code(address, type)
               ? bind(found.name, found.routine, address, object_of(*caller), of,
                      (*flags & LA_SYMB_DLSYM) != 0)
               : address;
  if (type != STT_FUNC && type != STT_GNU_IFUNC) return address;
  return bind_uncounted(name, address, of, (*library & kIsBlas) != 0);
}

}  // extern "C"
