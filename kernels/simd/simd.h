// The instruction set of the hand-written kernels: which one run-time dispatch chose, and a cap.
#pragma once

#include <string>
#include <string_view>

#include "src/base/result.h"

namespace hwprof {

// "AVX3", "AVX2", "SSSE3", "NEON", ...: what the next kernel runs on.
std::string simd_target();

// From now on no wider instruction set than `isa` is used: "sse" (or "ssse3"), "avx2", "avx512",
// "neon". Fault::kUsage when the CPU lacks it or the name is unknown. Call it before weights are
// packed: their layout follows the width.
Result<void> cap_simd(std::string_view isa);
// The same judgement, nothing set.
Result<void> check_simd_cap(std::string_view isa);

}  // namespace hwprof
