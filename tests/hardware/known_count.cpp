// Executes exactly 10,000,004 instructions, the last svc included: 5,000,000 rounds of two and four
// around them. `perf stat` and hwprof must both say so.
asm(R"(
  .globl _start
_start:
  ldr x5, =5000000
1:
  subs x5, x5, #1
  b.ne 1b
  mov x0, #0
  mov x8, #94 // exit_group
  svc #0
)");
