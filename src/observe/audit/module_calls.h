// The calls of a routine that a thread makes inside a module of a framework, in the audit library:
// which module that is python/hwprof tells in the table.
#pragma once

#include "src/observe/audit/system_call.h"
#include "src/observe/audit/table.h"

namespace hwprof::observe::audit {

// Where a site's calls are counted, as a number.
inline u32 slot_of(const Table& table, const Site& site, const CountedShape& counted) {
  const u64 place = reinterpret_cast<u64>(&counted),
            prepared = reinterpret_cast<u64>(table.prepared);
  if (place - prepared < sizeof(table.prepared))
    return kSlotsOfShards + static_cast<u32>((place - prepared) / sizeof(PreparedCalls));
  return static_cast<u32>(&counted - &site.shards[0].others);
}

// nullptr: the caller is in none.
inline const OpenModule* open_module(const OpenModules& open, u32 thread) {
  if (thread == 0) return nullptr;
  const OpenModule& own = open.threads[thread % kOpenThreads];
  if (load(own.thread) == thread) return load(own.module) != 0 ? &own : nullptr;
  if (load(asks_nothing) != 0) return nullptr;
  const auto process = static_cast<u32>(system_call(SYS_getpid, 0));
  if (process == thread) return nullptr;
  const OpenModule& all = open.processes[process % kOpenProcesses];
  const bool known = load(all.process) == process && load(all.alone) != 0 && load(all.module) != 0;
  return known ? &all : nullptr;
}

inline ModuleCalls* calls_in_module(Table& table, u32 thread, const Site& site,
                                    const CountedShape& counted) {
  constexpr u32 kTries = 16;
  if (load(table.open_modules.used) == 0) return nullptr;
  const OpenModule* open = open_module(table.open_modules, thread);
  if (open == nullptr) return nullptr;
  const u32 process = load(open->process), module = load(open->module);
  const u32 place = static_cast<u32>(&site - table.sites), slot = slot_of(table, site, counted);
  u64 hash = (u64{process} << 32 | module) * 0x9e3779b97f4a7c15 +
             (u64{place} << 32 | slot) * 0xc2b2ae3d27d4eb4f;
  hash ^= hash >> 32;
  for (u32 i = 0; i < kTries; ++i) {
    ModuleCalls& calls = table.module_calls[(hash + i) % kModuleCalls];
    if (load(calls.state) == kFree && claim(calls.state)) {
      calls.process = process;
      calls.module = module;
      calls.site = place;
      calls.slot = slot;
      publish(calls.state);
    }
    // As with shapes: two slots of one key are added up.
    if (load(calls.state) == kReady && calls.process == process && calls.module == module &&
        calls.site == place && calls.slot == slot) {
      return &calls;
    }
  }
  add(table.unplaced);
  return nullptr;
}

}  // namespace hwprof::observe::audit
