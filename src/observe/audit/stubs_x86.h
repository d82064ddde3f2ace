// The stubs of the audit library for x86-64, and what else of it knows this architecture.
//
// A stub calls the routine with a frame of its own (CFI, frame pointer) between the caller's and
// the routine's: exceptions, longjmp(), backtrace(), swapcontext() and shadow stacks pass it as
// they pass any function. To replace the return address instead would be as fast, and end programs
// that throw. The frame holds, from below:
//   rsp       copy of the arguments on the stack, as the routine expects them
//   rbp - 128 rdi rsi rdx rcx r8 r9 rax r10, as the caller left them
//   rbp - 64  OpenCall
//   rbp       the caller's; 8: the return address; 16: its arguments on the stack
// r11 is free at a call. Vector registers carry arguments and results: nobody here touches them.
#pragma once

#include "src/observe/audit/table.h"

// clang-format off: as the assembler has it
asm(R"(
  .text
  .balign 16
  .globl hwprof_stubs
  .hidden hwprof_stubs
  .type hwprof_stubs, @function
hwprof_stubs:
  .set stub, 0
  .rept 1024
  .balign 16
  endbr64
  movl $stub, %r11d
  jmp hwprof_call_through
  .set stub, stub + 1
  .endr
  .size hwprof_stubs, . - hwprof_stubs

  .type hwprof_call_through, @function
hwprof_call_through:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  subq $272, %rsp
  movq %rdi, -128(%rbp)
  movq %rsi, -120(%rbp)
  movq %rdx, -112(%rbp)
  movq %rcx, -104(%rbp)
  movq %r8, -96(%rbp)
  movq %r9, -88(%rbp)
  movq %rax, -80(%rbp)
  movq %r10, -72(%rbp)
  leaq -64(%rbp), %rdi
  movl %r11d, %esi
  leaq -128(%rbp), %rdx
  movq %rsp, %rcx
  call hwprof_enter_call
  movq %rax, %r11
  movq -128(%rbp), %rdi
  movq -120(%rbp), %rsi
  movq -112(%rbp), %rdx
  movq -104(%rbp), %rcx
  movq -96(%rbp), %r8
  movq -88(%rbp), %r9
  movq -80(%rbp), %rax
  movq -72(%rbp), %r10
  call *%r11
  movq %rax, -128(%rbp)
  movq %rdx, -120(%rbp)
  leaq -64(%rbp), %rdi
  movq %rax, %rsi
  call hwprof_leave_call
  movq -128(%rbp), %rax
  movq -120(%rbp), %rdx
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size hwprof_call_through, . - hwprof_call_through

  .balign 16
  .globl hwprof_other_stubs
  .hidden hwprof_other_stubs
  .type hwprof_other_stubs, @function
hwprof_other_stubs:
  .set stub, 0
  .rept 1024
  .balign 16
  endbr64
  movl $stub, %r11d
  jmp hwprof_jump_through
  .set stub, stub + 1
  .endr
  .size hwprof_other_stubs, . - hwprof_other_stubs

  .type hwprof_jump_through, @function
hwprof_jump_through:
  .cfi_startproc
  pushq %rax
  .cfi_adjust_cfa_offset 8
  shlq $4, %r11
  leaq hwprof_others(%rip), %rax
  addq %rax, %r11
  movq 8(%r11), %rax
  cmpl $0, (%rax)
  jne 1f
  movl $1, (%rax)
1:
  popq %rax
  .cfi_adjust_cfa_offset -8
  jmp *(%r11)
  .cfi_endproc
  .size hwprof_jump_through, . - hwprof_jump_through
)");
// clang-format on

namespace hwprof::observe::audit {

inline constexpr u32 kArgumentRegisters = 6;
inline constexpr u32 kStackPlace = 18;  // of the first argument on the stack, behind rdi's
// Where the C library's description of a thread lies, by the thread pointer: around some 700 bytes.
inline constexpr long kThreadFirst = 64, kThreadLast = 1536;

inline u64 thread_pointer() {
  u64 pointer;
  asm("movq %%fs:0, %0" : "=r"(pointer));
  return pointer;
}

}  // namespace hwprof::observe::audit
