// Functions without frame pointers whose stacks are known (unwind_test). Each shape ends in a trap
// within stop_here(), or in assembly, where a tracer looks at the registers.
#include <alloca.h>
#include <pthread.h>
#include <signal.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" {

// What the compiler must not see through.
volatile int sink;

#define SHAPE __attribute__((noinline, used, visibility("default")))

SHAPE void stop_here() {
  asm volatile("int3" ::: "memory");
  sink = sink + 1;
}

SHAPE int recurse(int depth) {
  if (depth == 0) {
    stop_here();
    return 1;
  }
  return recurse(depth - 1) + depth;
}

// Aligned anew, and of a size that is not known: its frame is found by way of a saved register.
SHAPE int realigned(int bytes) {
  alignas(128) volatile char aligned[256];
  auto* more = static_cast<volatile char*>(alloca(static_cast<std::size_t>(bytes)));
  aligned[0] = 1;
  more[0] = 1;
  stop_here();
  return aligned[0] + more[0] + bytes;
}
SHAPE int calls_realigned(int bytes) { return realigned(bytes) + 1; }

SHAPE void on_signal(int) {
  stop_here();
  sink = sink + 1;
}
SHAPE void divides(int by) {
  asm volatile("ud2" ::"r"(by));  // SIGILL: interrupts, does not call
  sink = sink + 1;
}
SHAPE int is_interrupted() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK;
  ::sigaction(SIGILL, &action, nullptr);
  divides(1);
  return sink;
}
SHAPE int is_interrupted_elsewhere() {
  char stack[64 << 10];  // above what is interrupted
  stack_t other{};
  other.ss_sp = stack;
  other.ss_size = sizeof stack;
  ::sigaltstack(&other, nullptr);
  return is_interrupted() + 1;
}

SHAPE void tail_end() {
  stop_here();
  sink = sink + 1;
}
SHAPE void tail_calls() {
  sink = sink + 1;
  asm volatile("jmp tail_end");  // its own frame is gone
}
SHAPE int before_tail_call() {
  tail_calls();
  return sink + 1;
}

// 100 KiB of which the middle is never touched.
SHAPE int large_frame() {
  volatile char large[100 << 10];
  large[0] = 1;
  large[sizeof large - 1] = 2;
  stop_here();
  return large[0] + large[sizeof large - 1];
}

// As assembly kernels are: no unwind information, the caller's stack pointer in rbx, a stack that
// is aligned anew; and a leaf that pushes nothing.
void kernel_with_buffer();
void kernel_leaf();
void keeps_registers();
asm(R"(
.text
.globl kernel_with_buffer
.type kernel_with_buffer, @function
kernel_with_buffer:
  push %rbx
  push %r12
  mov %rsp, %rbx
  sub $20480, %rsp
  and $-4096, %rsp
  xor %r12d, %r12d
  mov %r12, (%rsp)
  int3
  nop
  mov %rbx, %rsp
  pop %r12
  pop %rbx
  ret
.size kernel_with_buffer, .-kernel_with_buffer
.globl kernel_leaf
.type kernel_leaf, @function
kernel_leaf:
  int3
  nop
  ret
.size kernel_leaf, .-kernel_leaf
.globl keeps_registers
.type keeps_registers, @function
keeps_registers:
  .cfi_startproc
  push %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset rbx, 0
  push %r15
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset r15, 0
  sub $8, %rsp
  .cfi_adjust_cfa_offset 8
  mov $0x11111111, %ebx
  mov $0x15151515, %r15d
  call changes_registers
  add $8, %rsp
  .cfi_adjust_cfa_offset -8
  pop %r15
  .cfi_adjust_cfa_offset -8
  .cfi_restore r15
  pop %rbx
  .cfi_adjust_cfa_offset -8
  .cfi_restore rbx
  ret
  .cfi_endproc
.size keeps_registers, .-keeps_registers
)");
SHAPE void changes_registers() {
  asm volatile("xor %%ebx, %%ebx\n xor %%r15d, %%r15d" ::: "rbx", "r12", "r13", "r15");
  stop_here();
  sink = sink + 1;
}
SHAPE int calls_kernel_with_buffer() {
  kernel_with_buffer();
  return sink + 1;
}
SHAPE int calls_kernel_leaf() {
  kernel_leaf();
  return sink + 1;
}
SHAPE int calls_keeps_registers() {
  keeps_registers();
  return sink + 1;
}

// A tenth of a millisecond or so at a time.
SHAPE void spins() {
  for (int i = 0; i < 100'000; ++i) sink = i;
}
SHAPE int works(int depth) {
  if (depth > 0) return works(depth - 1) + depth;
  spins();
  return 1;
}
SHAPE void works_for(int milliseconds) {
  timespec begin{}, now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
  do {
    sink = works(20);
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1'000'000 <
           milliseconds);
}

SHAPE void* in_thread(void*) {
  stop_here();
  sink = sink + 1;
  return nullptr;
}

}  // extern "C"

int main(int argc, char** argv) {
  const char* shape = argc > 1 ? argv[1] : "";
  const int number = argc > 2 ? std::atoi(argv[2]) : 0;
  const auto is = [shape](const char* name) { return std::strcmp(shape, name) == 0; };
  if (is("recurse")) sink = recurse(number);
  if (is("realigned")) sink = calls_realigned(number);
  if (is("is_interrupted")) sink = is_interrupted();
  if (is("is_interrupted_elsewhere")) sink = is_interrupted_elsewhere();
  if (is("before_tail_call")) sink = before_tail_call();
  if (is("large_frame")) sink = large_frame();
  if (is("kernel_with_buffer")) sink = calls_kernel_with_buffer();
  if (is("kernel_leaf")) sink = calls_kernel_leaf();
  if (is("keeps_registers")) sink = calls_keeps_registers();
  if (is("works")) works_for(number);
  if (is("thread")) {
    pthread_t thread{};
    ::pthread_create(&thread, nullptr, in_thread, nullptr);
    ::pthread_join(thread, nullptr);
  }
  return 0;
}
