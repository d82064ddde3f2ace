// The instruction that reads a counter of the PMU in user space. Apart and inline: it stands at
// both edges of a region. Internal to counters/.
#pragma once

#include <cstdint>

namespace hwprof {

// `index` as the page of an event gives it: 1 for the first register. False: no such register.
#if defined(__x86_64__)
inline bool read_counter_register(unsigned index, std::uint64_t& content) {
  content = static_cast<std::uint64_t>(__builtin_ia32_rdpmc(static_cast<int>(index - 1)));
  return true;
}
#elif defined(__aarch64__)
// Every register has an instruction of its own. PMSELR_EL0 would choose one by number, but the
// kernel does not keep it across a change of threads. So this jumps to one of 31 places; a switch
// takes ten instructions for that, a tenth of an edge, where this takes three.
[[gnu::always_inline]] inline bool read_counter_register(unsigned index, std::uint64_t& content) {
  constexpr unsigned kCycles = 32;
  if (index == kCycles) {
    asm volatile("mrs %0, pmccntr_el0" : "=r"(content));
    return true;
  }
  if (index > kCycles) [[unlikely]]
    return false;
#if defined(__ARM_FEATURE_BTI_DEFAULT)
#define HWPROF_PLACES "16"
#define HWPROF_LANDING "bti j\nnop\n"
  constexpr int kPlaceShift = 4;
#else
#define HWPROF_PLACES "8"
#define HWPROF_LANDING ""
  constexpr int kPlaceShift = 3;
#endif
  asm volatile("adr %[content], 3f - " HWPROF_PLACES
               "\n"
               "add %[content], %[content], %x[index], lsl %[shift]\n"
               "br %[content]\n"
               "3:\n"
               ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,"
               "16,17,18,19,20,21,22,23,24,25,26,27,28,29,30\n" HWPROF_LANDING
               "mrs %[content], pmevcntr\\n\\()_el0\n"
               "b 4f\n"
               ".endr\n"
               "4:\n"
               : [content] "=&r"(content)
               : [index] "r"(static_cast<std::uint64_t>(index)), [shift] "i"(kPlaceShift));
#undef HWPROF_LANDING
#undef HWPROF_PLACES
  return true;
}
#else
inline bool read_counter_register(unsigned /*index*/, std::uint64_t& /*content*/) { return false; }
#endif

}  // namespace hwprof
