// dladdr() of a stub's address tells of the routine: of which file, by which name. R's
// sessionInfo() asks so which BLAS it has.
#pragma once

#include "src/observe/audit/others.h"
#include "src/observe/audit/stub.h"

namespace hwprof::observe::audit {

inline u64 real_dladdr = 0;

// What a stub stands for; else `address`.
inline u64 original_of(u64 address) {
  if (is_stub(address)) {
    const void* target = stubs[(address - address_of(0)) / kStubBytes].target;
    return target != nullptr ? reinterpret_cast<u64>(target) : address;
  }
  if (!is_other_stub(address)) return address;
  const u64 number = (address - reinterpret_cast<u64>(hwprof_other_stubs)) / kStubBytes;
  return hwprof_others[number].target != 0 ? hwprof_others[number].target : address;
}

}  // namespace hwprof::observe::audit

extern "C" {
__attribute__((visibility("hidden"), used)) inline int hwprof_dladdr(unsigned long address,
                                                                     void* found) {
  using namespace hwprof::observe::audit;
  return reinterpret_cast<int (*)(u64, void*)>(real_dladdr)(original_of(address), found);
}
}

namespace hwprof::observe::audit {

inline bool is_dladdr(const char* name) { return routine_names::equal(name, "dladdr"); }

// As watch_filters().
inline u64 watch_dladdr(const char* name, u64 address) {
  if (address == 0 || !is_dladdr(name)) return 0;
  u64 none = 0;
  if (!__atomic_compare_exchange_n(&real_dladdr, &none, address, false, __ATOMIC_RELAXED,
                                   __ATOMIC_RELAXED) &&
      none != address) {
    return 0;
  }
  return reinterpret_cast<u64>(&hwprof_dladdr);
}

}  // namespace hwprof::observe::audit
