// A real BLAS under real counters: the same product is the same number of instructions each time.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/blas_library.h"
#include "tests/hardware/guest.h"

namespace hwprof {
namespace {

constexpr BlasLibrary::Int kN = 256;
// OpenBLAS 0.3.21, core type neoversen1: counted once with bare system calls around cblas_sgemm.
constexpr double kKnownInstructions = 5'931'831;
// Two 128-bit FMA lanes of four would be 8: nothing does more on Neon.
constexpr double kMostFlopsPerInstruction = 8;

TEST(Gemm, InstructionsOfAProductAreExactAndRepeat) {
  guest::set_paranoid(2);
  guest::in_child([] {
    guest::become_user();
    const auto blas =
        BlasLibrary::load("/usr/lib/aarch64-linux-gnu/openblas-serial/libopenblas.so.0");
    ASSERT_TRUE(blas) << blas.error().what;
    std::vector<float> a(kN * kN), b(kN * kN), c(kN * kN);
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<float>(i % 13) - 6;
      b[i] = static_cast<float>(i % 7) - 3;
    }
    std::vector<double> instructions;
    for (int i = 0; i < 4; ++i) {
      const auto counted = guest::count({"cycles", "instructions"}, [&] {
        blas->sgemm(false, false, kN, kN, kN, 1.0F, a.data(), kN, b.data(), kN, 0.0F, c.data(), kN);
      });
      guest::expect_counted(counted[1]);
      EXPECT_EQ(counted[0].value, 2 * counted[1].value.value_or(-1));
      instructions.push_back(counted[1].value.value_or(-1));
    }
    // The first call of a process may do more: symbols are bound, buffers are made.
    EXPECT_EQ(instructions[1], instructions[2]);
    EXPECT_EQ(instructions[1], instructions[3]);
    EXPECT_NEAR(instructions[1] / kKnownInstructions, 1, 1e-3);
    const double flops = 2.0 * kN * kN * kN;
    EXPECT_LT(flops / instructions[1], kMostFlopsPerInstruction);
    guest::log_count("FLOP an instruction", flops / instructions[1]);
  });
}

}  // namespace
}  // namespace hwprof
