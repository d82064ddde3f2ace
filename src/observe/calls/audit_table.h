// The table in which the audit library counts, shared by hwprof and every process that it watches.
// Only adding, by atomic operations; a process that dies at any point leaves the table usable.
//
// It is a memory file without a name, so that nothing remains of it when its users are gone, sealed
// against any change of size. Everything in it but the sealed size is in the hands of the watched
// program: who reads it checks every index and the end of every text.
#pragma once

#include "src/observe/calls/call_shape.h"

namespace hwprof::observe::audit {

using u32 = unsigned int;
using u64 = unsigned long;
static_assert(sizeof(u64) == 8);

// "HWPROF_CALL_TABLE=/proc/PID/fd/N:NONCE", beside LD_AUDIT. The nonce stands in the table: another
// file that has come to that place is recognised.
inline constexpr char kVariable[] = "HWPROF_CALL_TABLE=";
inline constexpr u64 kMagic = 0x324c4c4143505748;  // "HWPCALL2"

inline constexpr u32 kFiles = 512, kPathBytes = 1024, kSymbolBytes = 48;
inline constexpr u32 kSites = 512, kShards = 4, kShapes = 64;
// One slot for each (process, site, address): a process has that many stubs.
inline constexpr u32 kStubs = 1024;

// A slot is free, being written by one process, or ready. One that stays kWriting belongs to a
// process that died in between: it is lost, and nothing else.
enum State : u32 { kFree, kWriting, kReady };

struct File {
  u32 state;
  char path[kPathBytes];
};

struct CountedShape {
  u32 state;
  Shape shape;
  u64 count;
};

// Threads that call at the same time are spread over shards: they do not share cache lines.
struct alignas(64) Shard {
  u64 others;  // calls whose shape has found no room, or has none to be read
  CountedShape shapes[kShapes];
};

struct Site {
  u32 state;
  u32 caller, library;  // places in `files`
  char symbol[kSymbolBytes];
  Shard shards[kShards];
};

struct Table {
  u64 magic, nonce;
  u64 processes;  // that have begun to count
  u64 unwatched;  // bindings for which there was no room
  File files[kFiles];
  Site sites[kSites];
};

}  // namespace hwprof::observe::audit
