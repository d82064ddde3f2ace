// The stubs of the audit library for arm64, and what else of it knows this architecture: as
// stubs_x86.h, where the reasons stand. The frame holds, from below:
//   sp        copy of the arguments on the stack, as the routine expects them
//   sp + 144  x0 to x9, as the caller left them
//   sp + 224  OpenCall
//   x29       the caller's frame pointer and return address; 16: its arguments on the stack
// x16 and x17 are free at a call, since a linker may put a veneer there. x8 points to a result in
// memory; x18 is the platform's.
#pragma once

#include "src/observe/audit/table.h"

// clang-format off: as the assembler has it
asm(R"(
  .text
  .balign 16
  .globl hwprof_stubs
  .hidden hwprof_stubs
  .type hwprof_stubs, %function
hwprof_stubs:
  .set stub, 0
  .rept 1024
  .balign 16
  hint #34
  mov w16, #stub
  b hwprof_call_through
  .set stub, stub + 1
  .endr
  .size hwprof_stubs, . - hwprof_stubs

  .type hwprof_call_through, %function
hwprof_call_through:
  .cfi_startproc
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset 29, -16
  .cfi_offset 30, -8
  mov x29, sp
  .cfi_def_cfa_register 29
  sub sp, sp, #288
  stp x0, x1, [sp, #144]
  stp x2, x3, [sp, #160]
  stp x4, x5, [sp, #176]
  stp x6, x7, [sp, #192]
  stp x8, x9, [sp, #208]
  add x0, sp, #224
  mov w1, w16
  add x2, sp, #144
  mov x3, sp
  bl hwprof_enter_call
  mov x16, x0
  ldp x0, x1, [sp, #144]
  ldp x2, x3, [sp, #160]
  ldp x4, x5, [sp, #176]
  ldp x6, x7, [sp, #192]
  ldp x8, x9, [sp, #208]
  blr x16
  stp x0, x1, [sp, #144]
  mov x1, x0
  add x0, sp, #224
  bl hwprof_leave_call
  ldp x0, x1, [sp, #144]
  mov sp, x29
  .cfi_def_cfa_register 31
  ldp x29, x30, [sp], #16
  .cfi_def_cfa_offset 0
  .cfi_restore 29
  .cfi_restore 30
  ret
  .cfi_endproc
  .size hwprof_call_through, . - hwprof_call_through

  .balign 16
  .globl hwprof_other_stubs
  .hidden hwprof_other_stubs
  .type hwprof_other_stubs, %function
hwprof_other_stubs:
  .set stub, 0
  .rept 1024
  .balign 16
  hint #34
  mov w16, #stub
  b hwprof_jump_through
  .set stub, stub + 1
  .endr
  .size hwprof_other_stubs, . - hwprof_other_stubs

  .type hwprof_jump_through, %function
hwprof_jump_through:
  .cfi_startproc
  adrp x17, hwprof_others
  add x17, x17, :lo12:hwprof_others
  add x16, x17, x16, lsl #4
  ldr x17, [x16, #8]
  str w17, [x17]
  ldr x16, [x16]
  br x16
  .cfi_endproc
  .size hwprof_jump_through, . - hwprof_jump_through
)");
// clang-format on

namespace hwprof::observe::audit {

inline constexpr u32 kArgumentRegisters = 8;
inline constexpr u32 kStackPlace = 20;  // of the first argument on the stack, behind x0's
// Where the C library's description of a thread lies, by the thread pointer: before it.
inline constexpr long kThreadFirst = -2304, kThreadLast = -64;

inline u64 thread_pointer() {
  u64 pointer;
  asm("mrs %0, tpidr_el0" : "=r"(pointer));
  return pointer;
}

}  // namespace hwprof::observe::audit
