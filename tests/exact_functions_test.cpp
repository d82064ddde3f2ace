#include "src/measure/exact_functions.h"

#include <gtest/gtest.h>

namespace hwprof {
namespace {

exact::Counts counts(std::uint64_t instructions, std::uint64_t single_256, std::uint64_t fma = 0) {
  exact::Counts made;
  made.instructions = instructions;
  made.flops[static_cast<std::size_t>(exact::Precision::kSingle)]
            [static_cast<std::size_t>(exact::Width::k256)] = single_256;
  made.operations[static_cast<std::size_t>(exact::Operation::kFma)] = fma;
  return made;
}

TEST(ExactFunctions, WhatIsZeroHasNoEntry) {
  const model::ExactCount count = exact_count(counts(7, 16, 8));
  EXPECT_EQ(count.instructions, 7U);
  EXPECT_EQ(count.flops, 16U);
  EXPECT_EQ(count.flops_by_width, (model::FlopsByWidth{{"256", 16}}));
  EXPECT_EQ(count.flops_by_precision, (std::map<std::string, std::uint64_t>{{"single", 16}}));
  EXPECT_EQ(count.operations, (model::ExactOperations{{"fma", 8}}));
}

constexpr auto kMaps =
    "1000-3000 r-xp 00002000 08:01 7 /lib/blas.so\n"
    "3000-4000 rw-p 00004000 08:01 7 /lib/blas.so\n"
    "5000-6000 r-xp 00000000 08:01 8 /lib/old.so (deleted)\n"
    "7000-8000 r-xp 00000000 00:00 0 \n"
    "9000-a000 r-xp 00000000 00:00 0 [vdso]\n";

TEST(ExactFunctions, BlocksAreFoundAtTheirFileOffsets) {
  const std::vector<exact::CountedBlock> blocks = {
      {.address = 0x1010, .counts = counts(1, 0)},  // of a mapping that begins at 0x2000
      {.address = 0x7010, .counts = counts(1, 0)},  // code that was written
      {.address = 0x9010, .counts = counts(1, 0)},
      {.address = 0x6000, .counts = counts(1, 0)},  // in no mapping (any more)
      {.address = 0x10, .counts = counts(1, 0)},    // before the first
      {.address = 0x5010, .counts = counts(1, 0)},  // of a file that was replaced
  };
  const std::vector<PlacedBlock> placed = place_blocks(blocks, kMaps);
  ASSERT_EQ(placed.size(), 6U);
  EXPECT_EQ(placed[0].file, "/lib/blas.so");
  EXPECT_EQ(placed[0].at, 0x2010U);
  EXPECT_EQ(placed[1].file, "");
  EXPECT_EQ(placed[1].at, 0x7010U);
  EXPECT_EQ(placed[2].file, "[vdso]");
  EXPECT_EQ(placed[3].file, "");
  EXPECT_EQ(placed[4].file, "");
  EXPECT_EQ(placed[5].file, "/lib/old.so (deleted)") << "another file may have the name by now";
}

TEST(ExactFunctions, BlocksOfOneFunctionAddUpAndTheMostFlopComeFirst) {
  const std::vector<PlacedBlock> blocks = {{"/a", 1, counts(100, 0)},
                                           {"/a", 20, counts(3, 64, 32)},
                                           {"/a", 21, counts(4, 16, 8)},
                                           {"/b", 20, counts(1, 0)},
                                           {"/b", 99, counts(0, 0)}};  // never ran
  const auto symbol_of = [](const std::string&, std::uint64_t at) -> std::string {
    return at < 10 ? "copy" : at < 30 ? "kernel" : "";
  };
  const std::vector<model::ExactFunction> functions = exact_functions(blocks, symbol_of);
  ASSERT_EQ(functions.size(), 3U);
  EXPECT_EQ(functions[0].name, "kernel");
  EXPECT_EQ(functions[0].library, "/a");
  EXPECT_EQ(functions[0].instructions, 7U);
  EXPECT_EQ(functions[0].flops, 80U);
  EXPECT_EQ(functions[0].flops_by_width, (model::FlopsByWidth{{"256", 80}}));
  EXPECT_EQ(functions[0].operations, (model::ExactOperations{{"fma", 40}}));
  EXPECT_EQ(functions[1].name, "copy");
  EXPECT_EQ(functions[2].library, "/b") << "a function of the same name in another file is another";
}

// Two additions.
[[gnu::noinline]] float sum_of_three(const volatile float* numbers) {
  return numbers[0] + numbers[1] + numbers[2];
}

TEST(ExactFunctions, AFunctionOfThisProgramHasItsNameAndItsFlop) {
  if (!exact::check_available()) GTEST_SKIP() << exact::check_available().error().what;
  const volatile float numbers[] = {1, 2, 3};
  float sum = 0;
  const auto counted = exact::count([&] { sum = sum_of_three(numbers); });
  ASSERT_TRUE(counted) << counted.error().what;
  const model::ExactCount count = own_count(*counted, symbols_of_files());
  EXPECT_EQ(sum, 6);
  ASSERT_FALSE(count.by_function.empty());
  EXPECT_NE(count.by_function.front().name.find("sum_of_three"), std::string::npos)
      << count.by_function.front().name;
  EXPECT_EQ(count.by_function.front().flops, 2U);
  std::uint64_t instructions = 0;
  for (const model::ExactFunction& function : count.by_function)
    instructions += function.instructions;
  EXPECT_EQ(instructions, count.instructions) << "each instruction belongs to one function";
}

}  // namespace
}  // namespace hwprof
