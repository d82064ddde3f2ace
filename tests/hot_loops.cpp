#include "tests/hot_loops.h"

#include <cstdlib>
#include <cstring>
#include <iterator>

// The loops count down in the first argument.
#if defined(__x86_64__)
#define TURN(top) "dec %rdi\n jnz " top "\n ret\n"
#else
#define TURN(top) "subs x0, x0, #1\n b.ne " top "\n ret\n"
#endif

#define LOOP(name, body)                                                                           \
  asm(".text\n.p2align 4\n.globl " #name "\n.type " #name ", %function\n" #name ":\n.globl " #name \
      "_inside\n" #name "_inside:\n 1: nop\n" body TURN("1b") ".globl " #name "_end\n" #name       \
                                                              "_end:\n.size " #name ", . - " #name \
                                                              "\n");                               \
  extern "C" void name(unsigned long rounds);                                                      \
  extern "C" const std::byte name##_inside[], name##_end[];

#if defined(__x86_64__)
LOOP(loop_zmm_fma, "vfmadd231ps %zmm1, %zmm1, %zmm2\n vfmadd231ps %zmm1, %zmm1, %zmm3\n")
LOOP(loop_zmm_mul_add, "vmulps %zmm1, %zmm1, %zmm2\n vaddps %zmm2, %zmm3, %zmm3\n")
LOOP(loop_ymm_fma, "vfmadd231ps %ymm1, %ymm1, %ymm2\n vfmadd231ps %ymm1, %ymm1, %ymm3\n")
LOOP(loop_ymm_mul_add, "vmulpd %ymm1, %ymm1, %ymm2\n vaddpd %ymm2, %ymm3, %ymm3\n")
LOOP(loop_128_fma, "vfmadd231pd %xmm1, %xmm1, %xmm2\n")
LOOP(loop_128_mul_add, "mulps %xmm1, %xmm2\n addps %xmm2, %xmm3\n")
LOOP(loop_scalar_fma, "vfmadd231ss %xmm1, %xmm1, %xmm2\n")
LOOP(loop_scalar_mul_add, "mulsd %xmm1, %xmm2\n addsd %xmm2, %xmm3\n")
LOOP(loop_integer, "add %rdi, %rax\n xor %rax, %rcx\n vpaddd %ymm1, %ymm2, %ymm3\n")
#elif defined(__aarch64__)
LOOP(loop_128_fma, "fmla v2.4s, v1.4s, v1.4s\n fmla v3.4s, v1.4s, v1.s[0]\n")
LOOP(loop_128_mul_add, "fmul v2.2d, v1.2d, v1.2d\n fadd v3.2d, v3.2d, v2.2d\n")
LOOP(loop_scalar_fma, "fmadd s2, s1, s1, s2\n")
LOOP(loop_scalar_mul_add, "fmul d2, d1, d1\n fadd d3, d3, d2\n")
LOOP(loop_integer, "add x1, x1, x0\n eor x2, x2, x1\n add v1.4s, v1.4s, v2.4s\n")
#endif

namespace hwprof {
namespace {

HotLoop make(const char* name, void (*run)(unsigned long), const std::byte* inside,
             const std::byte* end) {
  // A function pointer into code, looked at as bytes.
  const auto* begin = reinterpret_cast<const std::byte*>(run);
  return {name,
          run,
          {begin, end},
          reinterpret_cast<std::uint64_t>(begin),
          reinterpret_cast<std::uint64_t>(inside)};
}

#define ENTRY(name) make(#name, name, name##_inside, name##_end)

}  // namespace

const HotLoop& hot_loop(const char* name) {
  static const HotLoop loops[] = {
#if defined(__x86_64__)
    ENTRY(loop_zmm_fma),
    ENTRY(loop_zmm_mul_add),
    ENTRY(loop_ymm_fma),
    ENTRY(loop_ymm_mul_add),
#endif
    ENTRY(loop_128_fma),
    ENTRY(loop_128_mul_add),
    ENTRY(loop_scalar_fma),
    ENTRY(loop_scalar_mul_add),
    ENTRY(loop_integer)
  };
  for (const HotLoop& loop : loops) {
    if (std::strcmp(loop.name, name) == 0) return loop;
  }
  std::abort();
}

}  // namespace hwprof
