// Which instruction sets the hand-written kernels are compiled for, beside the baseline of the
// architecture (scalar code on x86-64, Neon on arm64); included before hwy/foreach_target.h. The
// best one that the CPU has is chosen at run time, so that one binary serves every machine.
//
// x86-64: SSSE3 (128 bits), AVX2 with FMA (256), AVX3 = AVX-512 F, BW, CD, DQ, VL (512). Left out
// because float32 kernels gain nothing: SSE4, AVX3_DL. arm64: Neon; SVE vectors have no size at
// compile time and cannot stand in the arrays that the register blocks are made of.
#pragma once

#define HWY_DISABLED_TARGETS \
  (HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
