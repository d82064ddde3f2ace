// Runs a region under both counters and as it is: the counts must be equal in every field, and so
// must be what the region left behind.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "src/base/sanitized.h"
#include "src/exact/exact.h"

namespace hwprof::exact {

inline void PrintTo(const Counts& counts, std::ostream* out) {  // NOLINT: GoogleTest's name
  *out << counts.instructions << " instructions, FLOP";
  for (const auto& by_width : counts.flops) {
    for (const std::uint64_t flops : by_width) *out << ' ' << flops;
  }
  *out << ", operations";
  for (const std::uint64_t lanes : counts.operations) *out << ' ' << lanes;
  *out << ", bytes " << counts.bytes_loaded << ' ' << counts.bytes_stored << ", masked "
       << counts.masked_instructions << " off " << counts.masked_lanes_off << ", system calls "
       << counts.system_calls;
}

// Stepping costs some 12 us an instruction in a virtual machine.
inline constexpr std::uint64_t kMostSteps = 400'000;

// What malloc does in a region depends on the heap: each count finds it as the one before did.
template <class Function>
Result<Counts> counts_of(Function&& run, Engine engine) {
  ::malloc_trim(0);
  const Result<Counted> counted = count(run, engine);
  if (!counted) return error_of(counted);
  return counted->counts;
}

// The counts of `run`, equal by blocks and by steps. It runs three times before, so that what
// happens only once (symbols bound at their first call, memory taken) is over.
template <class Function>
Counts same_counts(Function&& run) {
  run();
  run();
  EXPECT_TRUE(counts_of(run, Engine::kBlocks));
  const Result<Counts> blocks = counts_of(run, Engine::kBlocks);
  EXPECT_TRUE(blocks) << blocks.error().what;
  if (!blocks) return {};
  if (blocks->instructions > kMostSteps) return *blocks;
  const Result<Counts> steps = counts_of(run, Engine::kSteps);
  EXPECT_TRUE(steps) << steps.error().what;
  if (!steps) return {};
  EXPECT_EQ(*blocks, *steps);
  return *blocks;
}

// The same, of what fills `output`: bit-identical to what it does when nobody counts.
template <class Function>
Counts same_counts_and_bytes(std::vector<float>& output, Function&& run) {
  const auto filled_by = [&](auto&& how) {
    std::fill(output.begin(), output.end(), -1.0f);
    how();
    return output;
  };
  const auto same = [&](const std::vector<float>& a, const std::vector<float>& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  };
  const auto native = filled_by(run);
  EXPECT_TRUE(same(native, filled_by([&] { EXPECT_TRUE(count(run)); })));
  return same_counts(run);
}

#define SKIP_WITHOUT_EXACT()                                         \
  if (const auto there = ::hwprof::exact::check_available(); !there) \
  GTEST_SKIP() << there.error().what

}  // namespace hwprof::exact
