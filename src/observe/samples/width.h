// At which vector width the loop around an instruction computes. The loop is judged and not the
// sampled instruction: the interrupt of a clock lands on loads and branches as often as on
// arithmetic (59 % against 31 % of the samples of one 512-bit product). Pure: bytes in, class out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace hwprof::observe {

enum class LoopWidth {
  kScalar,        // floating-point arithmetic, one number an instruction
  k128,           // SSE, AVX on xmm, Advanced SIMD
  k256,           // ymm
  k512,           // zmm
  kNoArithmetic,  // a loop that copies, compares or counts: no floating-point arithmetic in it
  kNoLoop,        // straight-line code as far as it can be followed
  kUnclassified,  // no bytes, undecodable, or of a width that the encoding does not tell (SVE, AMX)
};

// "scalar", "128", "256", "512", "no-arithmetic", "no-loop", "unclassified"
std::string_view to_text(LoopWidth width);
// Scalar to 512 bits: it computes.
bool is_arithmetic(LoopWidth width);

struct LoopClass {
  LoopWidth width = LoopWidth::kUnclassified;
  bool fma = false;  // most of its arithmetic multiplies and adds in one instruction
  // It multiplies and adds, in one instruction or in several, and does little else: a product of
  // matrices looks so, a sum or a function of each element does not, nor does an interpreter.
  bool products = false;

  auto operator<=>(const LoopClass&) const = default;  // NOLINT(modernize-use-nullptr)
};

struct LoopBounds {
  std::uint64_t begin = 0, end = 0;  // addresses of its code, the second behind it
};

// A loop is looked for this far before and behind the instruction: kernels of convolutions unroll
// to tens of kilobytes (with 8 KiB, 98 % of their samples had no loop).
inline constexpr std::size_t kLoopReachBytes = 64U << 10U;

// The innermost loop around `sampled_ip`. `code` starts at `code_address` and is read up to
// kLoopReachBytes from the instruction on both sides. Decodes what this machine executes.
LoopClass classify_loop(std::span<const std::byte> code, std::uint64_t code_address,
                        std::uint64_t sampled_ip);

// The same for one instruction set, whatever this machine is; width.cpp picks. `bounds`: where that
// loop lies, if anyone asks.
LoopClass classify_loop_x86(std::span<const std::byte> code, std::uint64_t code_address,
                            std::uint64_t sampled_ip, LoopBounds* bounds = nullptr);
LoopClass classify_loop_a64(std::span<const std::byte> code, std::uint64_t code_address,
                            std::uint64_t sampled_ip);

}  // namespace hwprof::observe
