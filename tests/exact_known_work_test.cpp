// The work that PMUs are calibrated by does what its name says.
#include <map>

#include "src/measure/known_work.h"
#include "tests/exact_setup.h"

namespace hwprof::exact {
namespace {

struct Difference {
  std::uint64_t flops = 0, instructions = 0, loaded = 0, stored = 0;
};

// Of a round.
Difference of_a_round(const KnownWork& work) {
  constexpr std::uint64_t kRounds = 50;
  work.run(1);
  const auto once = count([&] { work.run(kRounds); });
  const auto twice = count([&] { work.run(2 * kRounds); });
  EXPECT_TRUE(once && twice) << work.name;
  if (!once || !twice) return {};
  const Counts &less = once->counts, &more = twice->counts;
  return {(more.total_flops() - less.total_flops()) / kRounds,
          (more.instructions - less.instructions) / kRounds,
          (more.bytes_loaded - less.bytes_loaded) / kRounds,
          (more.bytes_stored - less.bytes_stored) / kRounds};
}

TEST(ExactKnownWork, HasTheFlopsOfItsName) {
  SKIP_WITHOUT_EXACT();
  const std::map<std::string, std::uint64_t> flops = {{"add, scalar float", 1},
                                                      {"add, scalar double", 1},
                                                      {"multiply, 128-bit float", 4},
                                                      {"multiply, 128-bit double", 2},
                                                      {"divide, 128-bit float", 4},
                                                      {"square root, 128-bit double", 2},
                                                      {"add, 256-bit float", 8},
                                                      {"add, 256-bit double", 4},
                                                      {"FMA, scalar double", 2},
                                                      {"FMA, 256-bit float", 16},
                                                      {"FMA, 256-bit double", 8},
                                                      {"maximum, 256-bit float", 0},
                                                      {"FMA, 512-bit float", 32},
                                                      {"FMA, 512-bit double", 16},
                                                      {"add, 5 of 16 floats by a mask", 5}};
  std::size_t found = 0;
  for (const KnownWork& work : known_work()) {
    const auto known = flops.find(work.name);
    if (known == flops.end()) continue;
    ++found;
    EXPECT_TRUE(work.tells_flops) << work.name;
    const Difference round = of_a_round(work);
    EXPECT_EQ(round.flops, 8 * known->second) << work.name;
    EXPECT_EQ(round.instructions, 10U) << work.name;
  }
  EXPECT_GE(found, 6U);
}

TEST(ExactKnownWork, LoadsOfOneSize) {
  SKIP_WITHOUT_EXACT();
  std::size_t found = 0;
  for (const KnownWork& work : known_work()) {
    if (work.load_bytes == 0) continue;
    ++found;
    EXPECT_EQ(of_a_round(work).loaded, 8U * work.load_bytes) << work.name;
  }
  EXPECT_GE(found, 2U);
}

TEST(ExactKnownWork, InstructionsAndKernels) {
  SKIP_WITHOUT_EXACT();
  std::size_t found = 0;
  for (const KnownWork& work : known_work()) {
    const Difference round = of_a_round(work);
    if (work.name == "integer additions" || work.name == "calls and returns") {
      ++found;
      EXPECT_EQ(round.instructions, work.name == "integer additions" ? 10U : 18U);
    }
    if (!work.name.starts_with("linear layer")) continue;
    ++found;
    EXPECT_GE(round.flops, 2U * 16 * 64 * 64) << work.name;
    EXPECT_LE(round.flops, 2U * 16 * 64 * 64 + 16 * 64 * 8) << work.name;
  }
  EXPECT_GE(found, 4U);
}

}  // namespace
}  // namespace hwprof::exact
