// System calls of the audit library, which has no C library below it: a result from -4095 to -1 is
// -errno.
#pragma once

#include <sys/syscall.h>

#include "src/observe/audit/table.h"

namespace hwprof::observe::audit {

#if defined(__x86_64__)
inline long system_call(long number, long a, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) {
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
#elif defined(__aarch64__)
inline long system_call(long number, long a, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) {
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
#endif

// Set when the program limits its own system calls (filters.h): the next one may be its end.
inline u32 asks_nothing = 0;

// False as well where nothing may be asked.
// By a system call that copies from there and then fails whatever it finds, and that no filter
// written for programs forbids, since every thread makes it (as abseil's AddressIsReadable()).
inline bool is_readable_now(u64 address) {
  constexpr u64 kSetBytes = 8;
  constexpr long kNoSuchOperation = -1, kFault = -14;
  if (load(asks_nothing) != 0) return false;
  return system_call(SYS_rt_sigprocmask, kNoSuchOperation,
                     static_cast<long>(address & ~(kSetBytes - 1)), 0, kSetBytes) != kFault;
}

}  // namespace hwprof::observe::audit
