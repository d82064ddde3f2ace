// The kernel's number of this thread, without a system call at each call: that would cost more than
// many a call, and a filter may forbid it. The C library keeps the number beside its thread
// pointer; where is found out once, in the first thread.
#pragma once

#include "src/observe/audit/arguments.h"
#include "src/observe/audit/system_call.h"

namespace hwprof::observe::audit {

inline long thread_number_offset = 0;  // 0: not found
inline u32 starting_thread = 0;        // number of the first thread
// Which of the processes that have begun to count this one is, or was forked from.
inline u32 process_number = 0;

inline void find_thread_number() {
  const auto number = static_cast<int>(system_call(SYS_gettid, 0));
  const u64 base = thread_pointer();
  for (long offset = kThreadFirst; offset < kThreadLast; offset += 4) {
    const u64 address = base + static_cast<u64>(offset);
    if (!is_readable(address) || *reinterpret_cast<const int*>(address) != number) continue;
    thread_number_offset = offset;
    starting_thread = static_cast<u32>(number);
    return;
  }
}

inline u32 thread_number() {
  if (thread_number_offset == 0) return 0;
  return *reinterpret_cast<const u32*>(thread_pointer() + static_cast<u64>(thread_number_offset));
}

// The thread's own among all processes: in pid namespaces of their own, several have one number. 0:
// it is not known, as of a fork that is the first of such a namespace.
inline u32 thread_mark() {
  constexpr u32 kThreadBits = 22;  // of the largest number (PID_MAX_LIMIT)
  const u32 thread = thread_number();
  return thread != 0 && thread >= starting_thread ? thread ^ process_number << kThreadBits : 0;
}

}  // namespace hwprof::observe::audit
