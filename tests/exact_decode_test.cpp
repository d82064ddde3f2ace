// What instructions do, from their encodings alone: this CPU need not have them.
#include <gtest/gtest.h>

#include <cstddef>
#include <span>

#include "src/exact/decode.h"

namespace hwprof::exact {
namespace {

// The bytes of one instruction, as the assembler makes them.
#define ENCODED(name, text)                                                        \
  asm(".pushsection .rodata\n" #name ": " text "\n.skip 16, 0x90\n.popsection\n"); \
  extern "C" const std::byte name[];

ENCODED(exact_fma256, "vfmadd231ps %ymm1, %ymm2, %ymm3")
ENCODED(exact_fma512_masked, "vfmadd231ps (%rdi), %zmm2, %zmm3{%k3}")
ENCODED(exact_fma512_broadcast, "vfnmadd213pd (%rdi){1to8}, %zmm2, %zmm3")
ENCODED(exact_fma_scalar, "vfmsub132sd %xmm1, %xmm2, %xmm3")
ENCODED(exact_addps, "addps (%rax), %xmm1")
ENCODED(exact_subsd, "subsd %xmm2, %xmm1")
ENCODED(exact_divpd, "vdivpd %ymm1, %ymm2, %ymm3")
ENCODED(exact_sqrtss, "sqrtss %xmm1, %xmm1")
ENCODED(exact_haddps, "vhaddps %ymm1, %ymm2, %ymm3")
ENCODED(exact_maxps, "vmaxps %zmm1, %zmm2, %zmm3")
ENCODED(exact_comisd, "comisd %xmm1, %xmm2")
ENCODED(exact_cmpps_masked, "vcmpltps %zmm1, %zmm2, %k1{%k2}")
ENCODED(exact_dpps, "dpps $0x71, %xmm1, %xmm2")
ENCODED(exact_dpbf16, "vdpbf16ps %zmm1, %zmm2, %zmm3")
ENCODED(exact_half, "vaddph %zmm1, %zmm2, %zmm3")
ENCODED(exact_complex, "vfmaddcph %ymm1, %ymm2, %ymm3")
ENCODED(exact_x87, "fmulp %st, %st(1)")
ENCODED(exact_load_masked, "vmovups (%rdi), %zmm1{%k1}{z}")
ENCODED(exact_store_masked_sd, "vmovsd %xmm1, (%rdi){%k1}")
ENCODED(exact_broadcast_masked, "vbroadcastss (%rdi), %zmm1{%k1}{z}")
ENCODED(exact_permute_masked, "vpermps (%rdi), %zmm2, %zmm1{%k1}")
ENCODED(exact_pabsd_masked, "vpabsd (%rdi), %zmm1{%k1}")
ENCODED(exact_gather_avx2, "vgatherdpd %ymm1, (%rdi,%xmm2,8), %ymm3")
ENCODED(exact_gather_q, "vgatherqps (%rdi,%zmm2,4), %ymm3{%k2}")
ENCODED(exact_scatter, "vscatterdps %zmm1, (%rdi,%zmm2,4){%k1}")
ENCODED(exact_maskmov, "vmaskmovps %ymm1, %ymm12, (%rdi)")
ENCODED(exact_movsd_string, "rep movsl")
ENCODED(exact_movsd, "movsd (%rax), %xmm1")
ENCODED(exact_lea, "lea 8(%rax), %rcx")
ENCODED(exact_prefetch, "prefetcht0 (%rax)")
ENCODED(exact_push, "push %rax")
ENCODED(exact_call, "call *8(%rax)")
ENCODED(exact_rmw, "addq $1, (%rax)")
ENCODED(exact_paddd, "vpaddd %ymm1, %ymm2, %ymm3")
ENCODED(exact_vnni, "vpdpbusd %zmm1, %zmm2, %zmm3{%k1}")
ENCODED(exact_tile, "tdpbf16ps %tmm1, %tmm2, %tmm3")
ENCODED(exact_trap, "int3")
ENCODED(exact_far_return, "lretq")
ENCODED(exact_bytes_masked, "maskmovdqu %xmm1, %xmm2")

Effect effect_of(const std::byte* code) {
  const Instruction found = decode({code, 15}, 0x1000);
  EXPECT_EQ(found.refusal, nullptr) << found.refusal;
  return found.effect;
}

// What one execution adds, with `units` lanes on or iterations.
Counts counts_of(const std::byte* code, std::uint64_t units = 0) {
  Counts counts;
  add(counts, effect_of(code), 1, units);
  return counts;
}

struct Arithmetic {
  const std::byte* code;
  Operation operation;
  Precision precision;
  Width width;
  unsigned lanes, flops;
};

TEST(ExactDecode, ArithmeticIsCountedByOperationPrecisionAndWidth) {
  const Arithmetic known[] = {
      {exact_fma256, Operation::kFma, Precision::kSingle, Width::k256, 8, 16},
      {exact_fma512_broadcast, Operation::kFma, Precision::kDouble, Width::k512, 8, 16},
      {exact_fma_scalar, Operation::kFma, Precision::kDouble, Width::kScalar, 1, 2},
      {exact_addps, Operation::kAdd, Precision::kSingle, Width::k128, 4, 4},
      {exact_subsd, Operation::kAdd, Precision::kDouble, Width::kScalar, 1, 1},
      {exact_divpd, Operation::kDivide, Precision::kDouble, Width::k256, 4, 4},
      {exact_sqrtss, Operation::kSquareRoot, Precision::kSingle, Width::kScalar, 1, 1},
      {exact_haddps, Operation::kAdd, Precision::kSingle, Width::k256, 8, 8},
      {exact_maxps, Operation::kMinMax, Precision::kSingle, Width::k512, 16, 0},
      {exact_comisd, Operation::kCompare, Precision::kDouble, Width::kScalar, 1, 0},
      {exact_dpps, Operation::kDot, Precision::kSingle, Width::k128, 1, 5},
      {exact_dpbf16, Operation::kDot, Precision::kSingle, Width::k512, 16, 64},
      {exact_half, Operation::kAdd, Precision::kHalf, Width::k512, 32, 32},
      {exact_complex, Operation::kFma, Precision::kHalf, Width::k256, 8, 64},
      {exact_x87, Operation::kMultiply, Precision::kExtended, Width::kScalar, 1, 1},
  };
  for (std::size_t i = 0; i < std::size(known); ++i) {
    SCOPED_TRACE(i);
    const Effect effect = effect_of(known[i].code);
    EXPECT_EQ(effect.operation, known[i].operation);
    EXPECT_EQ(effect.precision, known[i].precision);
    EXPECT_EQ(effect.width, known[i].width);
    const Counts counts = counts_of(known[i].code);
    EXPECT_EQ(counts.lanes_of(known[i].operation), known[i].lanes);
    EXPECT_EQ(counts.total_flops(), known[i].flops);
    EXPECT_EQ(counts.flops_of(known[i].precision), known[i].flops);
    EXPECT_EQ(counts.flops_at(known[i].width), known[i].flops);
  }
}

TEST(ExactDecode, WhatIsNoArithmeticOfFloatingPointHasNoFlops) {
  for (const std::byte* code : {exact_paddd, exact_movsd, exact_lea, exact_push, exact_pabsd_masked,
                                exact_vnni, exact_movsd_string}) {
    EXPECT_EQ(effect_of(code).operation, Operation::kNone);
  }
}

TEST(ExactDecode, LanesThatAMaskSwitchesOffDoNothing) {
  const Counts fma = counts_of(exact_fma512_masked, 5);
  EXPECT_EQ(fma.total_flops(), 10U);
  EXPECT_EQ(fma.lanes_of(Operation::kFma), 5U);
  EXPECT_EQ(fma.masked_lanes_off, 11U);
  EXPECT_EQ(fma.bytes_loaded, 20U);
  EXPECT_EQ(effect_of(exact_fma512_masked).mask_register, 3);

  EXPECT_EQ(effect_of(exact_cmpps_masked).mask_lanes, 16);
  EXPECT_EQ(counts_of(exact_cmpps_masked, 3).lanes_of(Operation::kCompare), 3U);
  EXPECT_EQ(counts_of(exact_load_masked, 3).bytes_loaded, 12U);
  EXPECT_EQ(counts_of(exact_pabsd_masked, 3).bytes_loaded, 12U);
  EXPECT_EQ(effect_of(exact_vnni).mask_lanes, 16);
  EXPECT_EQ(counts_of(exact_store_masked_sd, 0).bytes_stored, 0U);
  EXPECT_EQ(counts_of(exact_store_masked_sd, 1).bytes_stored, 8U);
}

TEST(ExactDecode, MemoryThatIsReadWholeIsCountedWholeUnderAMask) {
  EXPECT_EQ(counts_of(exact_broadcast_masked, 3).bytes_loaded, 4U);
  EXPECT_EQ(counts_of(exact_permute_masked, 3).bytes_loaded, 64U);
}

TEST(ExactDecode, GathersAndMaskedMovesOfAvx2HaveTheirMaskInAVector) {
  const Effect gather = effect_of(exact_gather_avx2);
  EXPECT_EQ(gather.mask, MaskKind::kVectorSigns);
  EXPECT_EQ(gather.mask_register, 1);
  EXPECT_EQ(gather.mask_element_bytes, 8);
  EXPECT_TRUE(gather.mask_is_256);
  EXPECT_EQ(counts_of(exact_gather_avx2, 3).bytes_loaded, 24U);
  EXPECT_EQ(counts_of(exact_gather_q, 8).bytes_loaded, 32U);
  EXPECT_EQ(counts_of(exact_scatter, 2).bytes_stored, 8U);
  EXPECT_EQ(effect_of(exact_maskmov).mask_register, 12);
  EXPECT_EQ(counts_of(exact_maskmov, 3).bytes_stored, 12U);
}

TEST(ExactDecode, BytesAreThoseThatTheInstructionMoves) {
  EXPECT_EQ(counts_of(exact_fma512_broadcast).bytes_loaded, 8U);
  EXPECT_EQ(counts_of(exact_addps).bytes_loaded, 16U);
  EXPECT_EQ(counts_of(exact_movsd).bytes_loaded, 8U);
  EXPECT_EQ(counts_of(exact_lea).bytes_loaded, 0U);
  EXPECT_EQ(counts_of(exact_prefetch).bytes_loaded, 0U);
  EXPECT_EQ(counts_of(exact_push).bytes_stored, 8U);
  EXPECT_EQ(counts_of(exact_call).bytes_loaded, 8U);
  EXPECT_EQ(counts_of(exact_call).bytes_stored, 8U);
  EXPECT_EQ(counts_of(exact_rmw).bytes_loaded, 8U);
  EXPECT_EQ(counts_of(exact_rmw).bytes_stored, 8U);
  EXPECT_EQ(counts_of(exact_movsd_string, 7).bytes_stored, 28U);
  EXPECT_EQ(counts_of(exact_movsd_string, 7).instructions, 1U);
}

TEST(ExactDecode, WhatCannotBeCountedIsRefused) {
  for (const std::byte* code : {exact_tile, exact_trap, exact_far_return, exact_bytes_masked}) {
    EXPECT_NE(decode({code, 15}, 0x1000).refusal, nullptr);
  }
  EXPECT_NE(decode({exact_fma256, 2}, 0x1000).refusal, nullptr) << "cut short";
}

}  // namespace
}  // namespace hwprof::exact
