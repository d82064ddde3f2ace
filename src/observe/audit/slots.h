// The slots of the audit library's table: found, or made where there is none. Threads and processes
// do so at the same time, and none waits for another.
#pragma once

#include "src/observe/audit/table.h"

namespace hwprof::observe::audit {

// False when it does not fit.
inline bool copy_text(char* to, u32 room, const char* from) {
  for (u32 i = 0; i < room; ++i) {
    to[i] = from[i];
    if (from[i] == '\0') return true;
  }
  return false;
}

inline u32 length_of(const char* text) {
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

inline u32 find_file(Table& in, const char* path) {
  if (length_of(path) >= kPathBytes) return kFiles;
  return find_or_make(
      in.files, kFiles, [&](const File& file) { return routine_names::equal(file.path, path); },
      [&](File& file) { copy_text(file.path, kPathBytes, path); });
}

inline Site* find_site(Table& in, const char* symbol, const char* caller_path,
                       const char* library_path) {
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

inline CountedShape& counted_as(Shard& shard, const Shape& shape) {
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
    if (state == kReady && slot.shape == shape) return slot;
  }
  return shard.others;
}

}  // namespace hwprof::observe::audit
