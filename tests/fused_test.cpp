// The fused text CNN layer: every variant against double precision, over sizes that meet every
// tail of the columns and every height of the register block, on every instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "kernels/check.h"
#include "kernels/registry.h"
#include "kernels/simd/simd.h"
#include "tests/conv1d_data.h"
#include "tests/only_targets.h"

namespace hwprof {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct FusedCase : Conv1dData {
  using Conv1dData::Conv1dData;

  // Largest error over all documents; guards and the gaps between the rows of g must survive.
  double run(const Conv1dMaxpoolVariant& variant, ThreadTeam& team) {
    const std::size_t stride = shape.d_c + 3;
    GuardedFloats g(documents() * stride, 5);
    const GuardedFloats packed = packed_for(variant);
    const Conv1dMaxpoolCall call{.input = input(packed, team), .g = g.data(), .g_stride = stride};
    variant.run(call);
    EXPECT_TRUE(g.guards_intact() && packed.guards_intact()) << "wrote beyond its output";
    double error = 0;
    for (std::size_t b = 0; b < documents(); ++b) {
      const float* row = call.output(b);
      error = std::max(error, max_relative_error(conv1d_maxpool_expected(call.input, b), row));
      for (std::size_t j = shape.d_c; j < stride; ++j) {
        EXPECT_TRUE(std::isnan(row[j])) << "wrote into the gap between rows";
      }
      result.assign(row, row + shape.d_c);
    }
    return error;
  }

  std::vector<float> result{};  // of the last document
};

void expect_all_variants(FusedCase& problem, ThreadTeam& team) {
  const auto& shape = problem.shape;
  for (const Conv1dMaxpoolVariant& variant : conv1d_maxpool_variants()) {
    EXPECT_LE(problem.run(variant, team), tolerance(shape.k * shape.d_e + 1))
        << variant.name << " k=" << shape.k << " d_e=" << shape.d_e << " d_c=" << shape.d_c
        << " threads=" << team.size() << " " << simd_target();
  }
}

TEST(Conv1dMaxpool, EveryVariantIsRightForEverySmallSizeOnEveryInstructionSet) {
  ThreadTeam team(1, {});
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    for (std::size_t size = 1; size <= 140; ++size) {
      // Sizes run against each other, so that all remainders meet.
      const std::size_t k = 1 + size % 5, d_e = 1 + (size * 7) % 41;
      FusedCase problem({k, d_e, size}, {k, k + size % 29, k + 26}, size);
      expect_all_variants(problem, team);
    }
  }
}

TEST(Conv1dMaxpool, EveryNumberOfPositionsUpToThreeBlocks) {
  ThreadTeam team(1, {});
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    for (std::size_t positions = 1; positions <= 40; ++positions) {
      FusedCase problem({2, 9, 150}, {positions + 1}, positions);
      expect_all_variants(problem, team);
    }
  }
}

// Few filters are groups of 1 to 4 dot products, a number of rows each; 38 floats are whole steps
// of no vector but the shortest.
TEST(Conv1dMaxpool, EveryNumberOfPositionsOfFewFilters) {
  ThreadTeam team(1, {});
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    for (std::size_t filters = 1; filters <= 18; ++filters) {
      for (std::size_t positions = 1; positions <= 26; ++positions) {
        FusedCase problem({2, 19, filters}, {positions + 1}, positions);
        expect_all_variants(problem, team);
      }
    }
  }
}

// Neighbours of one position each are rows of one product, whatever stands between them.
TEST(Conv1dMaxpool, DocumentsOfOnePositionOnAnyNumberOfThreads) {
  for (const std::size_t threads : {1, 2, 3}) {
    ThreadTeam team(threads, {});
    for (const std::int64_t target : single_targets()) {
      const OnlyTargets only(target);
      for (const std::size_t d_c : {1, 2, 5, 33, 150}) {
        std::vector<std::size_t> lengths(40, 3);
        for (const std::size_t longer : {2, 3, 17, 39}) lengths[longer] += longer;
        FusedCase problem({3, 62, d_c}, lengths, 1);
        problem.x[5 * 62 + 7] = kNan;  // in the second document alone
        expect_all_variants(problem, team);
      }
    }
  }
}

TEST(Conv1dMaxpool, DocumentsAndFiltersAreSharedOutToAnyNumberOfThreads) {
  for (const std::size_t threads : {2, 3, 5}) {
    ThreadTeam team(threads, {});
    for (const std::size_t documents : {1, 2, 7, 60}) {
      std::vector<std::size_t> lengths(documents);
      for (std::size_t i = 0; i < documents; ++i) lengths[i] = 3 + (i * 37) % 53;
      for (const std::size_t d_c : {5, 33, 100, 131}) {
        FusedCase problem({3, 20, d_c}, lengths, 1);
        expect_all_variants(problem, team);
      }
    }
  }
}

TEST(Conv1dMaxpool, TheSizesOfTheTextCnn) {
  ThreadTeam team(1, {});
  for (const Conv1dShape& shape :
       {Conv1dShape{2, 300, 128}, Conv1dShape{8, 300, 128}, Conv1dShape{3, 300, 100}}) {
    FusedCase problem(shape, {124}, 0);
    expect_all_variants(problem, team);
  }
}

// A window that a NaN of either sign reaches gives NaN, wherever it is in the block of rows.
TEST(Conv1dMaxpool, ANanAnywhereGivesNanInEveryFilter) {
  ThreadTeam team(1, {});
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    for (const float nan : {kNan, -kNan}) {
      for (const std::size_t row : {0, 5, 13, 27}) {
        FusedCase problem({2, 18, 71}, {28}, 0);
        problem.x[row * 18 + 17] = nan;
        for (const Conv1dMaxpoolVariant& variant : conv1d_maxpool_variants()) {
          EXPECT_EQ(problem.run(variant, team), 0) << variant.name << " " << simd_target();
          EXPECT_TRUE(std::all_of(problem.result.begin(), problem.result.end(),
                                  [](float g) { return std::isnan(g); }))
              << variant.name << " row " << row << " " << simd_target();
        }
      }
    }
  }
}

// Infinity is no NaN: it wins where its weight is positive and ReLU removes it where it is
// negative. Next to an opposite infinity it makes NaN (a negative one, on x86).
TEST(Conv1dMaxpool, InfinityBehavesAsInTheReference) {
  ThreadTeam team(1, {});
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    for (std::size_t column = 0; column < 36; ++column) {
      FusedCase problem({2, 18, 71}, {28}, 0);
      problem.x[7 * 18 + column % 18] = kInfinity;
      if (column >= 18) problem.x[8 * 18 + column % 17] = -kInfinity;
      for (const Conv1dMaxpoolVariant& variant : conv1d_maxpool_variants()) {
        EXPECT_LE(problem.run(variant, team), tolerance(37))
            << variant.name << " " << simd_target();
      }
    }
  }
}

// The last step of each position of a window overlaps the one before: what was taken there, and
// what lies in another position, must not count again.
TEST(Conv1dMaxpool, NanInfinityAndZeroCountOnceInWindowsOfFewFilters) {
  ThreadTeam team(1, {});
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    for (const float value : {kNan, -kNan, kInfinity, -kInfinity, 0.0f}) {
      for (std::size_t column = 0; column < 62; ++column) {
        for (const std::size_t filters : {1, 2, 3}) {
          FusedCase problem({1 + column % 6, 62, filters}, {28, 7}, 0);
          problem.x[column % 35 * 62 + column] = value;
          for (const Conv1dMaxpoolVariant& variant : conv1d_maxpool_variants()) {
            EXPECT_LE(problem.run(variant, team), tolerance(6 * 62 + 1))
                << variant.name << " " << value << " in column " << column << " of " << filters
                << " filters " << simd_target();
          }
        }
      }
    }
  }
}

TEST(CapSimd, EveryInstructionSetOfThisCpuCanBeTheWidest) {
  struct Cap {
    const char* isa;
    const char* target;
  };
  std::size_t available = 0;
  for (const Cap& cap : {Cap{"sse", "SSSE3"}, Cap{"ssse3", "SSSE3"}, Cap{"avx2", "AVX2"},
                         Cap{"avx512", "AVX3"}, Cap{"neon", "NEON"}}) {
    if (const Result<void> capped = cap_simd(cap.isa)) {
      EXPECT_EQ(simd_target(), cap.target);
      ++available;
    } else {
      EXPECT_EQ(capped.error().fault, Fault::kUsage);
      EXPECT_NE(capped.error().what.find(cap.isa), std::string::npos);
    }
  }
  EXPECT_GE(available, 1U) << "SSSE3 and Neon are what hwprof needs at least";
  const OnlyTargets undo(hwy::SupportedTargets());
}

TEST(CapSimd, AnUnknownNameIsAUsageErrorThatListsTheKnownOnes) {
  const Result<void> capped = cap_simd("avx");
  ASSERT_FALSE(capped);
  EXPECT_EQ(capped.error().fault, Fault::kUsage);
#if defined(__x86_64__)
  EXPECT_NE(capped.error().hint.find("avx2"), std::string::npos);
#endif
}

}  // namespace
}  // namespace hwprof
