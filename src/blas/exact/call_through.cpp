// Both functions have frames as any other, so that exceptions and longjmp() pass them.
#include "src/blas/exact/call_through.h"

// clang-format off: as the assembler has it
asm(R"(
  .text
  .balign 16
  .globl hwprof_exact_call_through
  .type hwprof_exact_call_through, @function
hwprof_exact_call_through:
  .cfi_startproc
  endbr64
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  subq $272, %rsp
  movq %rdi, (%rsp)
  movq %rsi, 8(%rsp)
  movq %rdx, 16(%rsp)
  movq %rcx, 24(%rsp)
  movq %r8, 32(%rsp)
  movq %r9, 40(%rsp)
  movq %rax, 48(%rsp)
  movq %r10, 56(%rsp)
  movups %xmm0, 64(%rsp)
  movups %xmm1, 80(%rsp)
  movups %xmm2, 96(%rsp)
  movups %xmm3, 112(%rsp)
  movups %xmm4, 128(%rsp)
  movups %xmm5, 144(%rsp)
  movups %xmm6, 160(%rsp)
  movups %xmm7, 176(%rsp)
  leaq 16(%rbp), %rax
  movq %rax, 192(%rsp)
  stmxcsr 264(%rsp)
  movq %rsp, %rdi
  call hwprof_exact_take_call
  ldmxcsr 264(%rsp)
  movq 216(%rsp), %rax
  movq 224(%rsp), %rdx
  movups 232(%rsp), %xmm0
  movups 248(%rsp), %xmm1
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size hwprof_exact_call_through, . - hwprof_exact_call_through

  .balign 16
  .globl hwprof_exact_call
  .hidden hwprof_exact_call
  .type hwprof_exact_call, @function
hwprof_exact_call:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  pushq %rbx
  .cfi_offset %rbx, -24
  pushq %rbx
  movq %rdi, %rbx
  movq 200(%rbx), %rcx
  leaq 1(%rcx), %rax
  andq $-2, %rax
  shlq $3, %rax
  subq %rax, %rsp
  movq 192(%rbx), %rsi
  xorl %edx, %edx
1:
  cmpq %rcx, %rdx
  jae 2f
  movq (%rsi,%rdx,8), %rax
  movq %rax, (%rsp,%rdx,8)
  incq %rdx
  jmp 1b
2:
  movups 64(%rbx), %xmm0
  movups 80(%rbx), %xmm1
  movups 96(%rbx), %xmm2
  movups 112(%rbx), %xmm3
  movups 128(%rbx), %xmm4
  movups 144(%rbx), %xmm5
  movups 160(%rbx), %xmm6
  movups 176(%rbx), %xmm7
  movq (%rbx), %rdi
  movq 8(%rbx), %rsi
  movq 16(%rbx), %rdx
  movq 24(%rbx), %rcx
  movq 32(%rbx), %r8
  movq 40(%rbx), %r9
  movq 48(%rbx), %rax
  ldmxcsr 264(%rbx)
  call *208(%rbx)
  stmxcsr 264(%rbx)
  movq %rax, 216(%rbx)
  movq %rdx, 224(%rbx)
  movups %xmm0, 232(%rbx)
  movups %xmm1, 248(%rbx)
  movq -8(%rbp), %rbx
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size hwprof_exact_call, . - hwprof_exact_call
)");
// clang-format on
