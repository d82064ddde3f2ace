// Calls a function of the program while the result of a routine is on its way to the caller: it may
// use vector registers, which the audit library itself never does, and those of a result are saved.
#pragma once

#include "src/observe/audit/table.h"

// clang-format off: as the assembler has it
#if defined(__x86_64__)
asm(R"(
  .text
  .balign 16
  .globl hwprof_call_aside
  .hidden hwprof_call_aside
  .type hwprof_call_aside, @function
hwprof_call_aside:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  subq $32, %rsp
  movups %xmm0, (%rsp)
  movups %xmm1, 16(%rsp)
  movq %rdi, %rax
  movq %rsi, %rdi
  movq %rdx, %rsi
  call *%rax
  movups (%rsp), %xmm0
  movups 16(%rsp), %xmm1
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size hwprof_call_aside, . - hwprof_call_aside
)");
#else
asm(R"(
  .text
  .balign 16
  .globl hwprof_call_aside
  .hidden hwprof_call_aside
  .type hwprof_call_aside, %function
hwprof_call_aside:
  .cfi_startproc
  stp x29, x30, [sp, #-80]!
  .cfi_def_cfa_offset 80
  .cfi_offset 29, -80
  .cfi_offset 30, -72
  stp q0, q1, [sp, #16]
  stp q2, q3, [sp, #48]
  mov x16, x0
  mov x0, x1
  mov x1, x2
  blr x16
  ldp q0, q1, [sp, #16]
  ldp q2, q3, [sp, #48]
  ldp x29, x30, [sp], #80
  .cfi_def_cfa_offset 0
  .cfi_restore 29
  .cfi_restore 30
  ret
  .cfi_endproc
  .size hwprof_call_aside, . - hwprof_call_aside
)");
#endif
// clang-format on

extern "C" __attribute__((visibility("hidden"))) unsigned long hwprof_call_aside(
    unsigned long function, unsigned long first, unsigned long second);
