// The locks of what the audit library writes down of a process.
#pragma once

#include "src/observe/audit/table.h"

namespace hwprof::observe::audit {

// The loader holds no lock of its own where a call binds its symbol. False: given up, since a
// signal may have come to the thread that holds it.
inline bool take(u32& lock) {
  constexpr int kTries = 100'000;
  for (int i = 0; i < kTries; ++i) {
    if (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE) == 0) return true;
  }
  return false;
}
inline void leave(u32& lock) { __atomic_store_n(&lock, 0, __ATOMIC_RELEASE); }

}  // namespace hwprof::observe::audit
