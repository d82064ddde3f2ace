// Calls on objects that were made before, counted by what those were made for, in the audit
// library.
#pragma once

#include "src/observe/audit/table.h"

namespace hwprof::observe::audit {

inline void clear(PreparedWork& work) {
  for (u64 i = 0; i < kWordsOfWork; ++i) words_of(work)[i] = 0;
}
inline void copy(PreparedWork& to, const PreparedWork& from) {
  for (u64 i = 0; i < kWordsOfWork; ++i) words_of(to)[i] = words_of(from)[i];
}
inline bool is_same(const PreparedWork& a, const PreparedWork& b) {
  for (u64 i = 0; i < kWordsOfWork; ++i)
    if (words_of(a)[i] != words_of(b)[i]) return false;
  return true;
}

inline u64 hash_of(const PreparedWork& work, u64 seed) {
  u64 hash = seed;
  for (u64 i = 0; i < kWordsOfWork; ++i) {
    hash = (hash ^ words_of(work)[i]) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return hash;
}

// nullptr: there is no room.
inline CountedShape* counted_as(Table& table, const Site& site, const PreparedWork& work) {
  constexpr u32 kTries = 16;
  const u32 place = static_cast<u32>(&site - table.sites);
  const u64 hash = hash_of(work, place + 1);
  for (u32 i = 0; i < kTries; ++i) {
    PreparedCalls& calls = table.prepared[(hash + i) % kPreparedCalls];
    if (load(calls.state) == kFree && claim(calls.state)) {
      calls.site = place;
      copy(calls.work, work);
      publish(calls.state);
    }
    // As with shapes: two slots of one kind of work are added up.
    if (load(calls.state) == kReady && calls.site == place && is_same(calls.work, work))
      return &calls.counted;
  }
  return nullptr;
}

}  // namespace hwprof::observe::audit
