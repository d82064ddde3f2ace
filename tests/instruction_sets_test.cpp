// Which instruction sets the tests of the kernels go through, linked into each of their programs:
// a test that "runs on every instruction set" proves nothing about one that is not among them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "kernels/simd/simd.h"
#include "tests/only_targets.h"

namespace hwprof {
namespace {

TEST(InstructionSets, TheTestsGoThroughTheOneThatHwprofUsesHere) {
  const std::string used = simd_target();
  std::vector<std::string> tested;
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    tested.push_back(simd_target());
    std::printf("instruction set: %s\n", tested.back().c_str());
  }
  EXPECT_EQ(std::count(tested.begin(), tested.end(), used), 1) << used;
#if defined(__aarch64__)
  EXPECT_EQ(used, "NEON");
#endif
}

}  // namespace
}  // namespace hwprof
