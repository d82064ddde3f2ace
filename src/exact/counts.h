// What executed instructions did, as pure data: the effect of one instruction, and the sums over
// all that ran. Both counters (blocks, steps) add the same effects, so they can only differ in what
// they saw run.
//
// FLOP: an addition, subtraction, multiplication, division or square root of one lane is 1, a fused
// multiply-add 2; a lane that a mask switches off is 0. Comparisons, minima and maxima,
// approximations, conversions and roundings are 0 FLOP and have their own sums.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace hwprof::exact {

enum class Precision : std::uint8_t { kHalf, kSingle, kDouble, kExtended };  // kExtended: x87
enum class Width : std::uint8_t { kScalar, k128, k256, k512 };
enum class Operation : std::uint8_t {
  kNone,
  kAdd,  // subtractions, too
  kMultiply,
  kFma,
  kDivide,
  kSquareRoot,
  kDot,  // sums of products within a register: dpps, vdpbf16ps
  kCompare,
  kMinMax,
  kApproximate,  // rcpps, rsqrt14ps, functions of the x87
  kRound,        // roundings, and what takes a number apart: getexp, scalef, reduce
};
inline constexpr std::size_t kPrecisions = 4, kWidths = 4, kOperations = 11;

// Where the lanes that take part are said.
enum class MaskKind : std::uint8_t {
  kNone,
  kOpmask,       // k1 to k7
  kVectorSigns,  // the sign bits of a vector register: gathers and masked moves of AVX2
};

struct Effect {
  Operation operation = Operation::kNone;
  Precision precision = Precision::kSingle;
  Width width = Width::kScalar;
  std::uint8_t lanes = 0;           // that the operation has, without a mask
  std::uint8_t flops_per_lane = 0;  // 2 for kFma
  MaskKind mask = MaskKind::kNone;
  std::uint8_t mask_register = 0;       // of opmasks 1 to 7, of vectors 0 to 15
  std::uint8_t mask_lanes = 0;          // how many lanes the mask governs
  std::uint8_t mask_element_bytes = 0;  // kVectorSigns: 4 or 8
  bool mask_is_256 = false;             // kVectorSigns: a ymm register
  bool masked_memory = false;           // only the lanes that are on are read or written
  bool repeated = false;                // rep: loaded and stored are those of one iteration
  bool system_call = false;
  std::uint16_t loaded = 0, stored = 0;  // bytes

  bool operator==(const Effect&) const = default;
  // All lanes that the mask governs, as bits.
  [[nodiscard]] std::uint64_t all_lanes() const {
    return mask_lanes >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << mask_lanes) - 1;
  }
};

struct Counts {
  std::uint64_t instructions = 0;  // one with rep is one, however often it iterates
  std::array<std::array<std::uint64_t, kWidths>, kPrecisions> flops{};
  // Lanes that took part, by operation: a 256-bit FMA of floats is 8 of kFma. kDot counts the
  // results it sums up for.
  std::array<std::uint64_t, kOperations> operations{};
  std::uint64_t bytes_loaded = 0, bytes_stored = 0;
  std::uint64_t masked_instructions = 0, masked_lanes_off = 0;
  std::uint64_t system_calls = 0;

  bool operator==(const Counts&) const = default;
  Counts& operator+=(const Counts& other);
  [[nodiscard]] std::uint64_t total_flops() const;
  [[nodiscard]] std::uint64_t flops_of(Precision precision) const;
  [[nodiscard]] std::uint64_t flops_at(Width width) const;
  [[nodiscard]] std::uint64_t lanes_of(Operation operation) const {
    return operations.at(static_cast<std::size_t>(operation));
  }
};

// Adds an instruction that was executed `times`. `units`, summed over all of them: the lanes that
// its mask had on, or the iterations of rep; without a mask and rep it is not read.
void add(Counts& counts, const Effect& effect, std::uint64_t times, std::uint64_t units);

}  // namespace hwprof::exact
