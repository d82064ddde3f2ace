// The table in which the audit library counts, shared by hwprof and every process that it watches.
// Only adding, by atomic operations; a process that dies at any point leaves the table usable.
//
// It is a memory file without a name, so that nothing remains of it when its users are gone, sealed
// against any change of size. Everything in it but the sealed size is in the hands of the watched
// program: who reads it checks every index and the end of every text.
#pragma once

#include "src/observe/routines/call_shape.h"
#include "src/observe/routines/prepared_work.h"

namespace hwprof::observe::audit {

using u32 = unsigned int;
using u64 = unsigned long;
static_assert(sizeof(u64) == 8);

// "HWPROF_CALL_TABLE=/proc/PID/fd/N:NONCE", beside LD_AUDIT. The nonce stands in the table: another
// file that has come to that place is recognised.
inline constexpr char kVariable[] = "HWPROF_CALL_TABLE=";
inline constexpr u64 kMagic = 0x394c4c4143505748;  // "HWPCALL9"

inline constexpr u32 kFiles = 512, kPathBytes = 1024, kSymbolBytes = 48, kExactNameBytes = 256;
// torch, numpy and a split BLAS (liblapack on libblas on libopenblas) bind some 700.
inline constexpr u32 kSites = 1024, kShards = 4, kShapes = 64;
inline constexpr u32 kPreparedCalls = 4096;
// One slot for each (process, site, address): a process has that many stubs.
inline constexpr u32 kStubs = 1024;
// Of threads that run at the same time two may want one slot; then the last one has it.
inline constexpr u32 kOpenThreads = 4096, kOpenProcesses = 256;
inline constexpr u32 kModuleCalls = 16384;
inline constexpr u32 kCallFrames = 16, kRegionBytes = 120;
inline constexpr u32 kLongCalls = 32768;  // a power of two: numbers of calls may wrap around

// What a process reads its time from; hwprof chooses, since it can look before it runs.
enum class Clock : u32 {
  kCounter,  // that of the CPU: the same on all of them, at one rate
  kKernel,   // CLOCK_MONOTONIC in ns, by a system call: some 200 ns a reading
};

// A slot is free, being written by one process, or ready. One that stays kWriting belongs to a
// process that died in between: it is lost, and nothing else.
enum State : u32 { kFree, kWriting, kReady };

inline u32 load(const u32& value) { return __atomic_load_n(&value, __ATOMIC_ACQUIRE); }
inline u64 load(const u64& value) { return __atomic_load_n(&value, __ATOMIC_ACQUIRE); }
inline void add(u64& value, u64 amount = 1) {
  __atomic_fetch_add(&value, amount, __ATOMIC_RELAXED);
}
inline bool claim(u32& state) {
  u32 expected = kFree;
  return __atomic_compare_exchange_n(&state, &expected, kWriting, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED);
}
inline void publish(u32& state) { __atomic_store_n(&state, kReady, __ATOMIC_RELEASE); }

struct File {
  u32 state;
  // 1: it exports products, so that calls of its other functions are told; there was one.
  u32 has_blas, others_called;
  char path[kPathBytes];
};

// Returned calls by the flags of their arithmetic (float_flags.h): those whose flags are not known,
// those with denormal numbers, and all others, of which one number less is written. `log_ticks`
// adds up log_of() of each one's ticks: their geometric mean, of which a call that was interrupted
// is no large part.
struct alignas(64) MetNumbers {
  u64 untold;
  u64 usual_log_ticks;  // of all others
  u64 denormal, denormal_ticks, denormal_log_ticks;
  u64 invalid, flushed;  // of both kinds above
};

// 1024 times the binary logarithm, to within 8.
constexpr u64 log_of(u64 value) {
  if (value == 0) return 0;
  const auto whole = static_cast<u64>(63 - __builtin_clzl(value));
  const u64 part = (value << (63 - whole) >> 53) & 1023;  // linear between powers of two
  return whole * 1024 + part + (part * (1024 - part) * 353 >> 20);
}

// Operands of which some elements were looked at, and those that had one such among them.
struct OperandSamples {
  u64 looked_at, nan, infinite, denormal;
};

// Counted when they begin; those that have returned, with their time. An exception, a longjmp() or
// the end of the program leaves a call open.
struct alignas(64) CountedShape {
  u32 state;
  Shape shape;
  u64 count, returned, ticks;
  MetNumbers met;
  OperandSamples operands;
};

// Threads that call at the same time are spread over shards: they do not share cache lines.
struct Shard {
  CountedShape others;  // calls whose shape has found no room, or has none to be read
  CountedShape shapes[kShapes];
};

struct Site {
  u32 state;
  u32 caller, library;  // places in `files`
  char symbol[kSymbolBytes];
  Shard shards[kShards];
};

// Calls of a site on an object that was made for one kind of work and one shape. What it was made
// for is not known of those that are counted in the site's shards.
struct alignas(64) PreparedCalls {
  u32 state, site;
  PreparedWork work;
  CountedShape counted;  // of it `shape` and `state` have no meaning
};

// Where calls are counted, among all of a site: its shards' CountedShapes, then `prepared` of the
// table.
inline constexpr u32 kSlotsOfShard = 1 + kShapes, kSlotsOfShards = kShards * kSlotsOfShard;

// A call of at least long_ticks, at the place that its number gives: the next ones overwrite it.
struct alignas(64) LongCall {
  u64 number;  // from 1, written last
  u64 began, ended;
  u32 site, slot;  // places in `sites`, and where its calls are counted
  u32 thread;      // the kernel's number; 0: not known
};

// A function of Python that was running, as the interpreter has it. Its instruction is even: 1 is
// added where C has called the function.
struct CalledFrame {
  u64 code, instruction;
};

// Where the thread of a long call stood, at the same place as that. The frames are innermost first,
// and `whole` where no others are around them; the region is the path of names that libhwprof
// knows, or the end of it, "" where none was open.
struct alignas(64) CallPlace {
  u32 process;  // as it knows itself; 0: nothing was looked at
  unsigned short frame_count, whole;
  CalledFrame frames[kCallFrames];
  char region[kRegionBytes];
};

// The module of a framework that a thread is in, which python/hwprof/_calls.py writes. `module` 0:
// none. Threads that have no slot of their own work for the module of the process, where `alone`
// says that one thread alone is in one.
struct OpenModule {
  u32 thread, process, module, alone;
};
struct OpenModules {
  u32 used, unused[3];  // 0: nobody writes here
  OpenModule threads[kOpenThreads], processes[kOpenProcesses];
};

// Calls of one place in `sites` and of where its calls are counted, inside one module.
struct alignas(64) ModuleCalls {
  u32 state;
  u32 process, module, site, slot;
  u64 count, returned, ticks;
};

// With `run --exact`: the calls `first`, `first` + `every`, ... of a routine, whoever makes them
// and whatever library serves it, are handed to libhwprof-exact (exact_call.h), at most `most` of
// them. With `--exact-region` the entries to a region of libhwprof: that one finds them itself.
struct ExactCalls {
  char name[kExactNameBytes];  // "": none
  u32 of_region;               // 0: of a routine
  u64 first, every, most;      // every 0: the first alone
  u64 calls;                   // or entries
  u64 handed_over, without_counter;
  u64 filtered;  // not handed over, since the process limits its system calls

  // Counts a call. Its number, where it is one of those that are asked for; else 0.
  u64 choose() {
    const u64 call = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) + 1;
    if (every == 0 || call <= first) return call == first ? call : 0;
    return (call - first) % every == 0 && load(handed_over) < most ? call : 0;
  }
};

struct Table {
  u64 magic, nonce;
  Clock clock;
  u64 long_ticks;
  u32 reads_python;  // the frames of long calls are wanted
  u64 processes;     // that have begun to count
  u64 unwatched;     // bindings whose calls are not counted: there was no room, or no way
  // The thread that called first, by its mark, and whether there were others: of one alone, calls
  // follow each other.
  u32 first_thread, more_threads;
  u64 first_nan;   // 1 + the place in `sites` of the first call with NaN in an operand; 0: none
  u64 unplaced;    // calls in a module for which there was no room in `module_calls`
  u64 long_calls;  // their number
  ExactCalls exact;
  File files[kFiles];
  Site sites[kSites];
  PreparedCalls prepared[kPreparedCalls];
  OpenModules open_modules;
  ModuleCalls module_calls[kModuleCalls];
  LongCall calls[kLongCalls];
  CallPlace places[kLongCalls];  // of each
};

}  // namespace hwprof::observe::audit
