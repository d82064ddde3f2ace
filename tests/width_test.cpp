// Loops of this very program, assembled, and encodings that this CPU need not have, as bytes.
#include "src/observe/samples/width.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "tests/hot_loops.h"

namespace hwprof::observe {
namespace {

constexpr std::uint64_t kAddress = 0x401000;

LoopClass classify(const char* name) {
  const HotLoop& loop = hot_loop(name);
  return classify_loop(loop.code, loop.address, loop.inside);
}

std::vector<std::byte> bytes_of(std::initializer_list<unsigned> values) {
  std::vector<std::byte> bytes;
  for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

// `body`, and behind it a branch back to its start.
LoopClass classify_x86_body(std::initializer_list<unsigned> body) {
  auto code = bytes_of(body);
  const auto distance = static_cast<unsigned>(256 - (code.size() + 2));
  code.push_back(std::byte{0x75});  // jne
  code.push_back(static_cast<std::byte>(distance));
  code.push_back(std::byte{0xc3});
  return classify_loop_x86(code, kAddress, kAddress);
}

LoopClass classify_a64(std::initializer_list<std::uint32_t> words, std::size_t sampled = 0) {
  std::vector<std::byte> code;
  for (const std::uint32_t word : words) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
      code.push_back(static_cast<std::byte>(word >> shift & 0xffU));
    }
  }
  return classify_loop_a64(code, kAddress, kAddress + 4 * sampled);
}

std::ostream& print(std::ostream& out, const LoopClass& loop) {
  return out << to_text(loop.width) << (loop.fma ? " fma" : "");
}
#define EXPECT_CLASS(actual, expected, fused)                           \
  do {                                                                  \
    const LoopClass got = (actual);                                     \
    EXPECT_TRUE(got.width == (expected) && got.fma == (fused)) << [&] { \
      std::ostringstream text;                                          \
      print(text, got);                                                 \
      return text.str();                                                \
    }();                                                                \
  } while (false)

TEST(Width, IsThatOfTheArithmeticAroundAnInstructionThatDoesNotCompute) {
  EXPECT_CLASS(classify("loop_128_fma"), LoopWidth::k128, true);
  EXPECT_CLASS(classify("loop_128_mul_add"), LoopWidth::k128, false);
  EXPECT_CLASS(classify("loop_scalar_fma"), LoopWidth::kScalar, true);
  EXPECT_CLASS(classify("loop_scalar_mul_add"), LoopWidth::kScalar, false);
}

TEST(Width, OfAProductIsToldFromASum) {
  for (const char* name :
       {"loop_128_fma", "loop_128_mul_add", "loop_scalar_fma", "loop_scalar_mul_add"}) {
    EXPECT_TRUE(classify(name).products) << name;
  }
  EXPECT_FALSE(classify("loop_integer").products);
  // addss; mulss; both; both among 40 nops
  EXPECT_FALSE(classify_x86_body({0xf3, 0x0f, 0x58, 0xc1}).products);
  EXPECT_FALSE(classify_x86_body({0xf3, 0x0f, 0x59, 0xc1}).products);
  EXPECT_TRUE(classify_x86_body({0xf3, 0x0f, 0x59, 0xc1, 0xf3, 0x0f, 0x58, 0xc1}).products);
  EXPECT_FALSE(classify_x86_body({0xf3, 0x0f, 0x59, 0xc1, 0xf3, 0x0f, 0x58, 0xc1,  //
                                  0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,  //
                                  0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,  //
                                  0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,  //
                                  0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,  //
                                  0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90})
                   .products)
      << "an interpreter's, for one";
}

TEST(Width, OfALoopThatOnlyCountsIsNoArithmetic) {
  EXPECT_CLASS(classify("loop_integer"), LoopWidth::kNoArithmetic, false);
}

TEST(Width, OfStraightLineCodeIsNoLoop) {
  const HotLoop& loop = hot_loop("loop_scalar_fma");
  // From the return on, nothing leads back.
#if defined(__x86_64__)
  const std::uint64_t last = loop.address + loop.code.size() - 1;
#else
  const std::uint64_t last = loop.address + loop.code.size() - 4;
#endif
  EXPECT_CLASS(classify_loop(loop.code, loop.address, last), LoopWidth::kNoLoop, false);
}

TEST(Width, IsUnclassifiedWithoutTheBytes) {
  EXPECT_CLASS(classify_loop({}, 0, kAddress), LoopWidth::kUnclassified, false);
  const auto code = bytes_of({0x90, 0xc3, 0x90, 0x90});
  EXPECT_CLASS(classify_loop(code, kAddress, kAddress + 100), LoopWidth::kUnclassified, false);
  EXPECT_CLASS(classify_loop(code, kAddress, kAddress - 4), LoopWidth::kUnclassified, false);
}

#if defined(__x86_64__)

TEST(WidthX86, TellsZmmFromYmmAndFusedFromSeparate) {
  EXPECT_CLASS(classify("loop_zmm_fma"), LoopWidth::k512, true);
  EXPECT_CLASS(classify("loop_zmm_mul_add"), LoopWidth::k512, false);
  EXPECT_CLASS(classify("loop_ymm_fma"), LoopWidth::k256, true);
  EXPECT_CLASS(classify("loop_ymm_mul_add"), LoopWidth::k256, false);
}

TEST(WidthX86, KnowsDotProductsAndHalfPrecision) {
  // vpdpbusd zmm0, zmm1, zmm2 ends like the name of a scalar.
  EXPECT_CLASS(classify_x86_body({0x62, 0xf2, 0x75, 0x48, 0x50, 0xc2}), LoopWidth::k512, true);
  // vdpbf16ps ymm0, ymm1, ymm2
  EXPECT_CLASS(classify_x86_body({0x62, 0xf2, 0x76, 0x28, 0x52, 0xc2}), LoopWidth::k256, true);
  // vfmadd231ph zmm0, zmm1, zmm2
  EXPECT_CLASS(classify_x86_body({0x62, 0xf6, 0x75, 0x48, 0xb8, 0xc2}), LoopWidth::k512, true);
  // vaddph xmm0, xmm1, xmm2
  EXPECT_CLASS(classify_x86_body({0x62, 0xf5, 0x74, 0x08, 0x58, 0xc2}), LoopWidth::k128, false);
}

TEST(WidthX86, ReadsRoundingControlAsAWidthOf512) {
  // vfmadd231ps zmm0, zmm1, zmm2, {rz-sae}: its length bits hold the rounding mode.
  EXPECT_CLASS(classify_x86_body({0x62, 0xf2, 0x75, 0x78, 0xb8, 0xc2}), LoopWidth::k512, true);
  // vfmadd231ps zmm0, zmm1, zmm2, {rn-sae}
  EXPECT_CLASS(classify_x86_body({0x62, 0xf2, 0x75, 0x18, 0xb8, 0xc2}), LoopWidth::k512, true);
}

TEST(WidthX86, CountsX87AsScalar) {
  EXPECT_CLASS(classify_x86_body({0xd8, 0xc1, 0xd8, 0xc9}), LoopWidth::kScalar, false);
}

TEST(WidthX86, LeavesTilesUnclassified) {
  // tdpbf16ps tmm0, tmm1, tmm2
  EXPECT_EQ(classify_x86_body({0xc4, 0xe2, 0x6a, 0x5c, 0xc1}).width, LoopWidth::kUnclassified);
}

TEST(WidthX86, DoesNotTakeMovesForArithmetic) {
  // vmovups zmm0, [rax]; vxorps ymm0, ymm1, ymm2
  EXPECT_CLASS(classify_x86_body({0x62, 0xf1, 0x7c, 0x48, 0x10, 0x00, 0xc5, 0xf4, 0x57, 0xc2}),
               LoopWidth::kNoArithmetic, false);
}

TEST(WidthX86, GoesAroundAReturnInsideTheLoop) {
  const auto code = bytes_of({0x0f, 0x58, 0xc1,  // 0: addps
                              0x74, 0x01,        // 3: je 6
                              0xc3,              // 5: ret
                              0xff, 0xcf,        // 6: dec edi
                              0x75, 0xf6,        // 8: jne 0
                              0xc3});
  EXPECT_CLASS(classify_loop_x86(code, kAddress, kAddress), LoopWidth::k128, false);
}

// An earlier address alone makes no loop: control must get from there to the instruction.
TEST(WidthX86, DoesNotTakeAJumpToSharedCodeForALoop) {
  const auto code = bytes_of({0x0f, 0x58, 0xc1,  // 0: addps
                              0xc3,              // 3: ret
                              0x90,              // 4: nop, sampled
                              0xeb, 0xf9});      // 5: jmp 0
  EXPECT_CLASS(classify_loop_x86(code, kAddress, kAddress + 4), LoopWidth::kNoLoop, false);
}

TEST(WidthX86, FindsTheEndOfALoopOfTensOfKilobytes) {
  std::vector<std::byte> code;
  const auto fma = bytes_of({0x62, 0xf2, 0x75, 0x48, 0xb8, 0xc2});
  while (code.size() < 48'000) code.insert(code.end(), fma.begin(), fma.end());
  const std::size_t middle = fma.size() * (code.size() / fma.size() / 2);
  const auto back = static_cast<std::uint32_t>(-static_cast<std::int64_t>(code.size() + 6));
  for (const unsigned byte : {0x0fU, 0x85U}) code.push_back(static_cast<std::byte>(byte));
  for (unsigned shift = 0; shift < 32; shift += 8) {
    code.push_back(static_cast<std::byte>(back >> shift & 0xffU));
  }
  EXPECT_CLASS(classify_loop_x86(code, kAddress, kAddress + middle), LoopWidth::k512, true);
}

TEST(WidthX86, EndsOnEndlessCodeWithoutALoop) {
  const std::vector<std::byte> nops(200'000, std::byte{0x90});
  EXPECT_CLASS(classify_loop_x86(nops, kAddress, kAddress + 100'000), LoopWidth::kNoLoop, false);
  const auto forever = bytes_of({0xeb, 0xfe, 0x90});
  EXPECT_CLASS(classify_loop_x86(forever, kAddress, kAddress), LoopWidth::kNoArithmetic, false);
}

#endif

// Words as aarch64-linux-gnu-as gives them.
TEST(WidthA64, TellsAdvancedSimdFromScalar) {
  constexpr std::uint32_t kSubs = 0xf1000400, kBack1 = 0x54ffffc1, kBack2 = 0x54ffffa1,
                          kRet = 0xd65f03c0;
  // fmla v2.4s, v1.4s, v1.4s; subs; b.ne
  EXPECT_CLASS(classify_a64({0x4e21cc22, kSubs, kBack1, kRet}, 1), LoopWidth::k128, true);
  // fmul v2.2d, v1.2d, v1.2d; fadd v3.2d, v3.2d, v2.2d
  EXPECT_CLASS(classify_a64({0x6e61dc22, 0x4e62d463, kSubs, kBack2, kRet}), LoopWidth::k128, false);
  // fmla v2.4s, v1.4s, v1.s[0]
  EXPECT_CLASS(classify_a64({0x4f811022, kSubs, kBack1, kRet}), LoopWidth::k128, true);
  // fmadd s2, s1, s1, s2
  EXPECT_CLASS(classify_a64({0x1f010822, kSubs, kBack1, kRet}), LoopWidth::kScalar, true);
  // fmul d2, d1, d1; fadd d3, d3, d2
  EXPECT_CLASS(classify_a64({0x1e610822, 0x1e622863, kSubs, kBack2, kRet}), LoopWidth::kScalar,
               false);
  // add v1.4s, v1.4s, v2.4s
  EXPECT_CLASS(classify_a64({0x4ea28421, kSubs, kBack1, kRet}), LoopWidth::kNoArithmetic, false);
  EXPECT_CLASS(classify_a64({0x4e21cc22, kRet}), LoopWidth::kNoLoop, false);
}

TEST(WidthA64, LeavesSveUnclassified) {
  // fmla z2.s, p0/m, z1.s, z1.s; subs; b.ne
  EXPECT_EQ(classify_a64({0x65a10022, 0xf1000400, 0x54ffffc1, 0xd65f03c0}).width,
            LoopWidth::kUnclassified);
}

TEST(WidthA64, KnowsAllBranchesThatClose) {
  constexpr std::uint32_t kFmla = 0x4e21cc22;
  EXPECT_EQ(classify_a64({kFmla, 0xb5ffffe0}).width, LoopWidth::k128);  // cbnz x0, -4
  EXPECT_EQ(classify_a64({kFmla, 0x3707ffe0}).width, LoopWidth::k128);  // tbnz w0, #0, -4
  EXPECT_EQ(classify_a64({kFmla, 0x17ffffff}).width, LoopWidth::k128);  // b -4
}

}  // namespace
}  // namespace hwprof::observe
