#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/measure/bandwidth.cpp"
#include "kernels/simd/simd_targets.h"
// Includes this file again, once a target.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "src/measure/ceilings.h"

HWY_BEFORE_NAMESPACE();
namespace hwprof {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vec = hn::Vec<Tag>;

// Eight sums: a load a cycle and pipe is not held up by the latency of the addition. `count` is a
// multiple of kStep floats.
float read_array(const float* HWY_RESTRICT a, std::size_t count) {
  const Tag tag;
  const std::size_t lanes = hn::Lanes(tag);
  Vec s0 = hn::Zero(tag), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
  for (std::size_t i = 0; i < count; i += 8 * lanes) {
    s0 = hn::Add(s0, hn::Load(tag, a + i));
    s1 = hn::Add(s1, hn::Load(tag, a + i + lanes));
    s2 = hn::Add(s2, hn::Load(tag, a + i + 2 * lanes));
    s3 = hn::Add(s3, hn::Load(tag, a + i + 3 * lanes));
    s4 = hn::Add(s4, hn::Load(tag, a + i + 4 * lanes));
    s5 = hn::Add(s5, hn::Load(tag, a + i + 5 * lanes));
    s6 = hn::Add(s6, hn::Load(tag, a + i + 6 * lanes));
    s7 = hn::Add(s7, hn::Load(tag, a + i + 7 * lanes));
  }
  const Vec sum =
      hn::Add(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), hn::Add(hn::Add(s4, s5), hn::Add(s6, s7)));
  return hn::GetLane(hn::SumOfLanes(tag, sum));
}

void copy_array(const float* HWY_RESTRICT a, float* HWY_RESTRICT c, std::size_t count) {
  const Tag tag;
  const std::size_t lanes = hn::Lanes(tag);
  for (std::size_t i = 0; i < count; i += 4 * lanes) {
    const Vec v0 = hn::Load(tag, a + i), v1 = hn::Load(tag, a + i + lanes);
    const Vec v2 = hn::Load(tag, a + i + 2 * lanes), v3 = hn::Load(tag, a + i + 3 * lanes);
    hn::Store(v0, tag, c + i);
    hn::Store(v1, tag, c + i + lanes);
    hn::Store(v2, tag, c + i + 2 * lanes);
    hn::Store(v3, tag, c + i + 3 * lanes);
  }
}

void triad_array(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, float* HWY_RESTRICT c,
                 std::size_t count) {
  const Tag tag;
  const std::size_t lanes = hn::Lanes(tag);
  const Vec factor = hn::Set(tag, 0.5f);
  for (std::size_t i = 0; i < count; i += 2 * lanes) {
    const Vec v0 = hn::MulAdd(factor, hn::Load(tag, b + i), hn::Load(tag, a + i));
    const Vec v1 = hn::MulAdd(factor, hn::Load(tag, b + i + lanes), hn::Load(tag, a + i + lanes));
    hn::Store(v0, tag, c + i);
    hn::Store(v1, tag, c + i + lanes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hwprof
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "src/measure/statistics.h"

namespace hwprof {
namespace {

HWY_EXPORT(read_array);
HWY_EXPORT(copy_array);
HWY_EXPORT(triad_array);

// Floats of the largest unrolled step, 8 vectors of 512 bits. Not HWY_MAX_BYTES: here, outside the
// target's namespace, that is the size of the baseline's vector.
constexpr std::size_t kStep = 8 * 64 / sizeof(float);
constexpr std::uint64_t kMaxMemoryBytes = std::uint64_t{256} << 20;

// An array of this size lies in memory, not in a cache. 0: what the machine does not tell, as some
// virtual machines do with their caches.
std::uint64_t size_in_memory(std::uint64_t last_cache_bytes, std::uint64_t memory_bytes) {
  std::uint64_t size = kMaxMemoryBytes;
  if (last_cache_bytes > 0) size = std::min(size, 4 * last_cache_bytes);
  if (memory_bytes > 0) size = std::min(size, memory_bytes / 8);
  return size;
}

constexpr double kSliceSeconds = 0.008;

using Clock = std::chrono::steady_clock;

// Median rate over passes of a slice; every thread runs `pass` on its own arrays at the same time.
double team_gbs(ThreadTeam& team, double bytes_per_pass,
                const std::function<void(std::size_t)>& pass) {
  std::vector<double> rates(team.size());
  team.run([&](std::size_t thread) {
    std::vector<double> pass_ns;
    const auto begin = Clock::now();
    // The first pass brings the arrays into the level and is not counted.
    pass(thread);
    for (auto before = Clock::now();;) {
      // Short passes are bundled, so that reading the clock costs less than 1 %.
      const int bundle = std::max(1, static_cast<int>(100'000 / bytes_per_pass * 10));
      for (int i = 0; i < bundle; ++i) pass(thread);
      const auto after = Clock::now();
      pass_ns.push_back(std::chrono::duration<double, std::nano>(after - before).count() / bundle);
      before = after;
      const bool enough = pass_ns.size() >= 3;
      if (enough && after - begin > std::chrono::duration<double>(kSliceSeconds)) break;
    }
    rates[thread] = bytes_per_pass / median(pass_ns);
  });
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return sum;
}

}  // namespace

std::vector<report::Bandwidth> measure_bandwidth(const std::vector<report::Bandwidth>& levels,
                                                 std::uint64_t memory_bytes, ThreadTeam& team) {
  const auto threads = static_cast<std::uint64_t>(team.size());
  std::vector<report::Bandwidth> results;
  std::uint64_t last_cache_bytes = 0;
  for (const report::Bandwidth& level : levels) {
    const auto capacity = static_cast<std::uint64_t>(level.capacity_bytes);
    const bool is_memory = capacity == 0;
    const std::uint64_t all_bytes =
        is_memory ? size_in_memory(last_cache_bytes, memory_bytes) : capacity / 2;
    last_cache_bytes = capacity;
    // The three arrays of the triad together are the working set; read and copy use as much.
    const std::size_t third = all_bytes / threads / sizeof(float) / 3 / kStep * kStep;
    if (third == 0) continue;
    std::vector<hwy::AlignedFreeUniquePtr<float[]>> arrays;
    for (std::uint64_t i = 0; i < threads; ++i) {
      arrays.push_back(hwy::AllocateAligned<float>(3 * third));
    }
    if (std::any_of(arrays.begin(), arrays.end(), [](const auto& a) { return a == nullptr; })) {
      continue;
    }
    team.run([&](std::size_t thread) { std::fill_n(arrays[thread].get(), 3 * third, 1.0f); });
    const std::size_t half = 3 * third / 2 / kStep * kStep;
    std::vector<float> sink(threads);
    const double bytes = sizeof(float);
    report::Bandwidth result = level;
    result.working_set_bytes = 3 * third * sizeof(float);
    result.read_gbs = team_gbs(team, bytes * 3 * static_cast<double>(third), [&](std::size_t t) {
      sink[t] = HWY_DYNAMIC_DISPATCH(read_array)(arrays[t].get(), 3 * third);
    });
    result.copy_gbs = team_gbs(team, bytes * 2 * static_cast<double>(half), [&](std::size_t t) {
      HWY_DYNAMIC_DISPATCH(copy_array)(arrays[t].get(), arrays[t].get() + half, half);
    });
    result.triad_gbs = team_gbs(team, bytes * 3 * static_cast<double>(third), [&](std::size_t t) {
      float* a = arrays[t].get();
      HWY_DYNAMIC_DISPATCH(triad_array)(a, a + third, a + 2 * third, third);
    });
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace hwprof
#endif  // HWY_ONCE
