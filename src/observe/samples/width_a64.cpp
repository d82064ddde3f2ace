// arm64, from the encodings: Arm Architecture Reference Manual for A-profile (DDI 0487), chapter C4
// "A64 instruction set encoding"; the names below are those of its tables. Instructions are four
// bytes and few of them compute, so no decoder is needed. SVE does not say how wide it is in its
// encodings: a loop of it is "unclassified".
#include <array>
#include <cstring>

#include "src/observe/samples/loop_scan.h"
#include "src/observe/samples/width.h"

namespace hwprof::observe {
namespace {

constexpr std::uint64_t kBytes = 4;

enum Operates : std::uint8_t { kAdding, kMultiplying, kFusing, kDividing, kBoth };

struct Pattern {
  std::uint32_t mask, value;
  LoopWidth width;
  Operates operation;

  [[nodiscard]] constexpr bool fits(std::uint32_t word) const { return (word & mask) == value; }
};

constexpr std::array kArithmetic = {
    // Floating-point data-processing, scalar.
    Pattern{0xFF20FC00, 0x1E200800, LoopWidth::kScalar, kMultiplying},  // FMUL
    Pattern{0xFF20FC00, 0x1E201800, LoopWidth::kScalar, kDividing},     // FDIV
    Pattern{0xFF20FC00, 0x1E202800, LoopWidth::kScalar, kAdding},       // FADD
    Pattern{0xFF20FC00, 0x1E203800, LoopWidth::kScalar, kAdding},       // FSUB
    Pattern{0xFF20FC00, 0x1E208800, LoopWidth::kScalar, kMultiplying},  // FNMUL
    Pattern{0xFF3FFC00, 0x1E21C000, LoopWidth::kScalar, kDividing},     // FSQRT
    Pattern{0xFF000000, 0x1F000000, LoopWidth::kScalar, kFusing},  // FMADD, FMSUB, FNMADD, FNMSUB
    // Advanced SIMD scalar x indexed element.
    Pattern{0xFF00B400, 0x5F001000, LoopWidth::kScalar, kFusing},       // FMLA, FMLS
    Pattern{0xFF00F400, 0x5F009000, LoopWidth::kScalar, kMultiplying},  // FMUL
    // Advanced SIMD three same; bit 30 (64 or 128 bits) is not looked at.
    Pattern{0xBF20FC00, 0x0E20CC00, LoopWidth::k128, kFusing},       // FMLA, FMLS
    Pattern{0xBF20FC00, 0x0E20D400, LoopWidth::k128, kAdding},       // FADD, FSUB
    Pattern{0xBFA0FC00, 0x2E20D400, LoopWidth::k128, kAdding},       // FADDP
    Pattern{0xBFA0FC00, 0x2E20DC00, LoopWidth::k128, kMultiplying},  // FMUL
    Pattern{0xBFA0FC00, 0x2E20FC00, LoopWidth::k128, kDividing},     // FDIV
    Pattern{0xBF60FC00, 0x0E20EC00, LoopWidth::k128, kFusing},       // FMLAL, FMLSL
    Pattern{0xBF60FC00, 0x2E20CC00, LoopWidth::k128, kFusing},       // FMLAL2, FMLSL2
    // Advanced SIMD three same (FP16).
    Pattern{0xBF60FC00, 0x0E400C00, LoopWidth::k128, kFusing},       // FMLA, FMLS
    Pattern{0xBF60FC00, 0x0E401400, LoopWidth::k128, kAdding},       // FADD, FSUB
    Pattern{0xBFE0FC00, 0x2E401C00, LoopWidth::k128, kMultiplying},  // FMUL
    Pattern{0xBFE0FC00, 0x2E403C00, LoopWidth::k128, kDividing},     // FDIV
    // Advanced SIMD vector x indexed element.
    Pattern{0xBF80B400, 0x0F801000, LoopWidth::k128, kFusing},  // FMLA, FMLS of single and double
    Pattern{0xBFC0B400, 0x0F001000, LoopWidth::k128, kFusing},  // FMLA, FMLS of half
    Pattern{0xBF80F400, 0x0F809000, LoopWidth::k128, kMultiplying},  // FMUL of single and double
    Pattern{0xBFC0F400, 0x0F009000, LoopWidth::k128, kMultiplying},  // FMUL of half
    Pattern{0xBFC0B400, 0x0F800000, LoopWidth::k128, kFusing},       // FMLAL, FMLSL
    Pattern{0xBFC0B400, 0x2F808000, LoopWidth::k128, kFusing},       // FMLAL2, FMLSL2
    Pattern{0x9FC0F400, 0x0F80E000, LoopWidth::k128, kFusing},       // SDOT, UDOT
    Pattern{0xBF40F400, 0x0F00F000, LoopWidth::k128, kFusing},       // SUDOT, USDOT
    Pattern{0xBFC0F400, 0x0F40F000, LoopWidth::k128, kFusing},       // BFDOT
    Pattern{0xBFC0F400, 0x0FC0F000, LoopWidth::k128, kFusing},       // BFMLALB, BFMLALT
    // Advanced SIMD three-register extension.
    Pattern{0x9FE0FC00, 0x0E809400, LoopWidth::k128, kFusing},  // SDOT, UDOT
    Pattern{0xBFE0FC00, 0x0E809C00, LoopWidth::k128, kFusing},  // USDOT
    Pattern{0x9FE0F400, 0x0E80A400, LoopWidth::k128, kFusing},  // SMMLA, UMMLA, USMMLA
    Pattern{0xBFE0FC00, 0x2E40EC00, LoopWidth::k128, kFusing},  // BFMMLA
    Pattern{0xBFE0FC00, 0x2E40FC00, LoopWidth::k128, kFusing},  // BFDOT
    Pattern{0xBFE0FC00, 0x2EC0FC00, LoopWidth::k128, kFusing},  // BFMLALB, BFMLALT
    Pattern{0xBF20E400, 0x2E00C400, LoopWidth::k128, kFusing},  // FCMLA
    // SVE floating-point and its integer dot products, at whatever width the CPU has; SME outer
    // products.
    Pattern{0xFE000000, 0x64000000, LoopWidth::kUnclassified, kBoth},
    Pattern{0xFF20F800, 0x44000000, LoopWidth::kUnclassified, kFusing},
    Pattern{0xFE000000, 0x80000000, LoopWidth::kUnclassified, kFusing},
};

// Byte offset of a branch whose signed word offset stands in `bits` bits from bit `first` on.
std::uint64_t offset(std::uint32_t word, unsigned first, unsigned bits) {
  const auto field = static_cast<std::int64_t>(word >> first) & ((std::int64_t{1} << bits) - 1);
  const std::int64_t sign = std::int64_t{1} << (bits - 1);
  return static_cast<std::uint64_t>(((field ^ sign) - sign) * static_cast<std::int64_t>(kBytes));
}

Step step_of(std::uint32_t word, std::uint64_t address) {
  Step step;
  step.length = kBytes;
  if ((word & 0xFF000000) == 0x54000000 || (word & 0x7E000000) == 0x34000000) {  // B.cond, CB(N)Z
    step.flow = Flow::kBranch;
    step.target = address + offset(word, 5, 19);
  } else if ((word & 0x7E000000) == 0x36000000) {  // TBZ, TBNZ
    step.flow = Flow::kBranch;
    step.target = address + offset(word, 5, 14);
  } else if ((word & 0xFC000000) == 0x14000000) {  // B
    step.flow = Flow::kJump;
    step.target = address + offset(word, 0, 26);
  } else if ((word & 0xFF9F0000) == 0xD61F0000 && (word & 0x00600000) != 0x00200000) {
    step.flow = Flow::kEnd;  // BR, RET, ERET; not BLR, which comes back
  } else if ((word & 0xFFE0001F) == 0xD4200000 || (word & 0xFFFF0000) == 0) {  // BRK, UDF
    step.flow = Flow::kEnd;
  }
  const auto found = std::find_if(kArithmetic.begin(), kArithmetic.end(),
                                  [&](const Pattern& pattern) { return pattern.fits(word); });
  if (found != kArithmetic.end()) {
    step.arithmetic = found->width;
    step.fma = found->operation == kFusing;
    step.multiplies = step.fma || found->operation == kMultiplying || found->operation == kBoth;
    step.adds = step.fma || found->operation == kAdding || found->operation == kBoth;
  }
  return step;
}

}  // namespace

LoopClass classify_loop_a64(std::span<const std::byte> code, std::uint64_t code_address,
                            std::uint64_t sampled_ip) {
  const std::uint64_t lowest = sampled_ip > kLoopReachBytes
                                   ? std::max(code_address, sampled_ip - kLoopReachBytes)
                                   : code_address;
  const std::uint64_t end = std::min(code_address + code.size(), sampled_ip + kLoopReachBytes);
  const auto decode = [&](std::uint64_t address) -> std::optional<Step> {
    if (address < lowest || address + kBytes > end || address % kBytes != 0) return std::nullopt;
    std::array<std::uint8_t, kBytes> bytes{};
    std::memcpy(bytes.data(), &code[address - code_address], bytes.size());
    // Instructions are little-endian even where data is not.
    const std::uint32_t word =
        static_cast<std::uint32_t>(bytes[0]) | static_cast<std::uint32_t>(bytes[1]) << 8U |
        static_cast<std::uint32_t>(bytes[2]) << 16U | static_cast<std::uint32_t>(bytes[3]) << 24U;
    return step_of(word, address);
  };
  return LoopScan(decode, lowest, end, sampled_ip).classify();
}

}  // namespace hwprof::observe
