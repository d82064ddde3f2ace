// Programs that limit themselves: their system calls (seccomp), or the clock of the CPU
// (PR_SET_TSC, which the strict mode of seccomp brings with it). From then on the audit library
// asks for neither during a call, and what it would have asked for stays unknown: the shape of a
// call whose arguments lie where nobody has looked before, the time that it took.
//
// It hears of it where prctl() and syscall() are bound: functions of ours look at their arguments
// and jump on, with the caller's stack as it was, as a call of clone() needs. What a program does
// by instructions of its own is not heard. Calls that can but fail, by which libseccomp asks what
// the kernel knows, limit nothing.
#pragma once

#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <time.h>

#include "src/observe/audit/system_call.h"
#include "src/observe/audit/ticks.h"

// clang-format off: as the assembler has it
#if defined(__x86_64__)
asm(R"(
  .text
  .irp name, prctl, syscall
  .balign 16
  .globl hwprof_\name
  .hidden hwprof_\name
  .type hwprof_\name, @function
hwprof_\name:
  .cfi_startproc
  endbr64
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  pushq %rax
  .cfi_adjust_cfa_offset 56
  call hwprof_note_\name
  popq %rax
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  .cfi_adjust_cfa_offset -56
  jmp *hwprof_real_\name(%rip)
  .cfi_endproc
  .size hwprof_\name, . - hwprof_\name
  .endr
)");
#else
asm(R"(
  .text
  .irp name, prctl, syscall
  .balign 16
  .globl hwprof_\name
  .hidden hwprof_\name
  .type hwprof_\name, %function
hwprof_\name:
  .cfi_startproc
  hint #34
  stp x29, x30, [sp, #-80]!
  .cfi_def_cfa_offset 80
  .cfi_offset 29, -80
  .cfi_offset 30, -72
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  bl hwprof_note_\name
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldp x29, x30, [sp], #80
  .cfi_def_cfa_offset 0
  .cfi_restore 29
  .cfi_restore 30
  adrp x16, hwprof_real_\name
  ldr x16, [x16, #:lo12:hwprof_real_\name]
  br x16
  .cfi_endproc
  .size hwprof_\name, . - hwprof_\name
  .endr
)");
#endif
// clang-format on

namespace hwprof::observe::audit {

// What this process reads its time from: what hwprof has chosen, or nothing.
enum OwnClock : u32 { kNoClock, kCounterClock, kKernelClock };
inline u32 own_clock = kNoClock;

inline void choose_clock(Clock chosen) {
  own_clock = chosen == Clock::kCounter ? kCounterClock : kKernelClock;
}

// 0: the program lets nobody read the clock.
inline u64 ticks() {
  const u32 clock = __atomic_load_n(&own_clock, __ATOMIC_RELAXED);
  if (clock == kCounterClock) return counter_ticks();
  if (clock == kNoClock) return 0;
  timespec time{};
  system_call(SYS_clock_gettime, CLOCK_MONOTONIC, reinterpret_cast<long>(&time));
  return static_cast<u64>(time.tv_sec) * 1'000'000'000 + static_cast<u64>(time.tv_nsec);
}

}  // namespace hwprof::observe::audit

extern "C" {
extern const char hwprof_prctl[], hwprof_syscall[];
// Where they jump to.
__attribute__((visibility("hidden"), used)) inline unsigned long hwprof_real_prctl = 0;
__attribute__((visibility("hidden"), used)) inline unsigned long hwprof_real_syscall = 0;

__attribute__((visibility("hidden"), used)) inline void hwprof_note_prctl(int option,
                                                                          unsigned long value,
                                                                          unsigned long filter) {
  using namespace hwprof::observe::audit;
  const bool is_strict = option == PR_SET_SECCOMP && value == SECCOMP_MODE_STRICT;
  const bool limits =
      is_strict || (option == PR_SET_SECCOMP && value == SECCOMP_MODE_FILTER && filter != 0);
  if (limits) __atomic_store_n(&asks_nothing, 1, __ATOMIC_RELEASE);
  if (is_strict || (limits && load(own_clock) == kKernelClock) ||
      (option == PR_SET_TSC && value == PR_TSC_SIGSEGV)) {
    __atomic_store_n(&own_clock, kNoClock, __ATOMIC_RELEASE);
  }
}

__attribute__((visibility("hidden"), used)) inline void hwprof_note_syscall(long number,
                                                                            unsigned long first,
                                                                            unsigned long second,
                                                                            unsigned long third) {
  if (number == SYS_prctl) hwprof_note_prctl(static_cast<int>(first), second, third);
  if (number != SYS_seccomp) return;
  if (first == SECCOMP_SET_MODE_STRICT && second == 0 && third == 0)
    hwprof_note_prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0);
  if (first == SECCOMP_SET_MODE_FILTER)
    hwprof_note_prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, third);
}
}

namespace hwprof::observe::audit {

inline bool may_limit_calls(const char* name) {
  return routine_names::equal(name, "prctl") || routine_names::equal(name, "syscall");
}
inline bool is_own_filter_watch(u64 address) {
  return address == reinterpret_cast<u64>(hwprof_prctl) ||
         address == reinterpret_cast<u64>(hwprof_syscall);
}

// What `name` is to be bound to instead; 0: to what it is. A second function of that name, as in
// another namespace of the loader, is left alone.
inline u64 watch_filters(const char* name, u64 address) {
  if (address == 0 || !may_limit_calls(name)) return 0;
  const bool is_prctl = routine_names::equal(name, "prctl");
  u64& real = is_prctl ? hwprof_real_prctl : hwprof_real_syscall;
  u64 none = 0;
  if (!__atomic_compare_exchange_n(&real, &none, address, false, __ATOMIC_RELAXED,
                                   __ATOMIC_RELAXED) &&
      none != address) {
    return 0;
  }
  return reinterpret_cast<u64>(is_prctl ? hwprof_prctl : hwprof_syscall);
}

}  // namespace hwprof::observe::audit
