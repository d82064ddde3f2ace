#include "src/measure/peak_by_hand.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace hwprof {
namespace {

// As text: a compiler keeps an array of so many chains in memory, and the "peak" is that of store
// forwarding.

#if defined(__x86_64__)

// One pipe multiplies, one adds: half of the chains each, as peak.cpp does without FMA. Latency 5
// and 3 (Intel optimisation manual, Sandy Bridge): seven chains of a kind are enough.
constexpr double kAvxFlopsPerStep = 2.0 * 7 * 8;

__attribute__((target("avx"))) void run_avx(std::uint64_t steps) {
  if (steps == 0) return;
  const float one = 1;
  asm volatile(
      ".irp n, 0,1,2,3,4,5,6,14\n"
      "vbroadcastss %1, %%ymm\\n\n"
      ".endr\n"
      ".irp n, 7,8,9,10,11,12,13,15\n"
      "vxorps %%ymm\\n, %%ymm\\n, %%ymm\\n\n"
      ".endr\n"
      "1:\n"
      ".irp n, 0,1,2,3,4,5,6\n"
      "vmulps %%ymm14, %%ymm\\n, %%ymm\\n\n"
      ".endr\n"
      ".irp n, 7,8,9,10,11,12,13\n"
      "vaddps %%ymm15, %%ymm\\n, %%ymm\\n\n"
      ".endr\n"
      "dec %0\n"
      "jnz 1b\n"
      "vzeroupper\n"
      : "+r"(steps)
      : "m"(one)
      : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
        "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

#elif defined(__aarch64__)

// 24 chains of z += 0 x 0:
// enough for two pipes of latency 9 (A64FX microarchitecture manual: fmla).
constexpr int kSveChains = 24;

void run_sve(std::uint64_t steps) {
  if (steps == 0) return;
  asm volatile(
      ".arch_extension sve\n"
      "ptrue p0.s\n"
      ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23\n"
      "fmov z\\n\\().s, #1.0\n"
      ".endr\n"
      "mov z24.s, #0\n"
      "mov z25.s, #0\n"
      "1:\n"
      ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23\n"
      "fmla z\\n\\().s, p0/m, z24.s, z25.s\n"
      ".endr\n"
      "subs %0, %0, #1\n"
      "b.ne 1b\n"
      : "+r"(steps)
      :
      : "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",
        "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25");
}

double sve_lanes() {
  std::uint64_t lanes = 0;
  asm(".arch_extension sve\ncntw %0\n" : "=r"(lanes));
  return static_cast<double>(lanes);
}

#endif

}  // namespace

std::vector<FmaKernel> kernels_by_hand() {
  std::vector<FmaKernel> kernels;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx")) kernels.push_back({"avx", kAvxFlopsPerStep, run_avx});
#elif defined(__aarch64__)
  if ((::getauxval(AT_HWCAP) & HWCAP_SVE) != 0)
    kernels.push_back({"sve", 2.0 * kSveChains * sve_lanes(), run_sve});
#endif
  return kernels;
}

}  // namespace hwprof
