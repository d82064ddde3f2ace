// How a function is called in place of another that has the same arguments, whatever they are, on
// x86-64: all registers and words on the stack that can hold one are kept and laid anew.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hwprof::blas {

// One call: what came with it, and what it returned. The offsets stand in call_through.cpp, too.
struct PassedCall {
  // rdi rsi rdx rcx r8 r9, and rax, which tells how many vector registers hold arguments
  std::array<std::uint64_t, 7> integers;
  std::uint64_t handover;
  std::array<std::array<std::uint64_t, 2>, 8> vectors;  // xmm0 to xmm7
  const std::uint64_t* stack;
  std::uint64_t stack_words;
  const void* routine;
  std::array<std::uint64_t, 2> result;                         // rax, rdx
  std::array<std::array<std::uint64_t, 2>, 2> vector_results;  // xmm0, xmm1
  std::uint32_t float_state, unused;                           // MXCSR
};
static_assert(offsetof(PassedCall, handover) == 56 && offsetof(PassedCall, vectors) == 64 &&
              offsetof(PassedCall, stack) == 192 && offsetof(PassedCall, routine) == 208 &&
              offsetof(PassedCall, result) == 216 && offsetof(PassedCall, vector_results) == 232 &&
              offsetof(PassedCall, float_state) == 264 && sizeof(PassedCall) == 272);

}  // namespace hwprof::blas

extern "C" {
// Stands in for a routine: keeps what came with the call and has hwprof_exact_take_call() make it.
void hwprof_exact_call_through();
// Calls `call.routine`, and keeps its results.
__attribute__((visibility("hidden"))) void hwprof_exact_call(hwprof::blas::PassedCall* call);
__attribute__((visibility("hidden"))) void hwprof_exact_take_call(hwprof::blas::PassedCall* call);
}
