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
#include <cmath>
#include <functional>

#include "src/base/clock.h"
#include "src/measure/statistics.h"

namespace hwprof {
namespace {

HWY_EXPORT(read_array);
HWY_EXPORT(copy_array);
HWY_EXPORT(triad_array);

// Floats of the largest unrolled step, 8 vectors of 512 bits. Not HWY_MAX_BYTES: here, outside the
// target's namespace, that is the size of the baseline's vector.
constexpr std::size_t kStep = 8 * 64 / sizeof(float);

constexpr std::uint64_t kLeastBytes = 8 << 10, kCoarseFromBytes = 16 << 20;
constexpr double kSliceNs = 1.5e6, kBundleNs = 0.1e6;

// Rate over a slice, by the CPU time of each thread; each runs `pass` on its own arrays at the same
// time.
double team_gbs(ThreadTeam& team, double bytes_per_pass,
                const std::function<void(std::size_t)>& pass) {
  std::vector<double> rates(team.size());
  team.run([&](std::size_t thread) {
    pass(thread);  // brings the arrays into the level and is not counted
    std::vector<double> pass_ns;
    int bundle = 1;
    for (const double begin = wall_ns(); pass_ns.size() < 2 || wall_ns() - begin < kSliceNs;) {
      const double before = thread_cpu_ns();
      for (int i = 0; i < bundle; ++i) pass(thread);
      const double elapsed_ns = std::max(1.0, thread_cpu_ns() - before);
      // Short passes are bundled, so that reading the clock costs less than 1 %.
      if (elapsed_ns < kBundleNs) {
        bundle *= 2;
        if (bundle < 1 << 20) continue;
      }
      pass_ns.push_back(elapsed_ns / bundle);
    }
    rates[thread] = bytes_per_pass / median(pass_ns);
  });
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return sum;
}

// Sizes of the arrays of a thread: steps of sqrt(2), and of 2 where a pass takes milliseconds; the
// largest is the last, whatever the steps come to.
std::vector<std::uint64_t> working_sets(std::uint64_t largest_bytes) {
  std::vector<std::uint64_t> sizes;
  constexpr double kAlmost = 0.75;  // of the largest: no step of its own
  for (double size = kLeastBytes; size < kAlmost * static_cast<double>(largest_bytes);
       size *= size < kCoarseFromBytes ? std::sqrt(2.0) : 2) {
    sizes.push_back(static_cast<std::uint64_t>(size));
  }
  sizes.push_back(largest_bytes);
  return sizes;
}

}  // namespace

std::vector<report::Bandwidth> measure_bandwidth(std::uint64_t largest_bytes, ThreadTeam& team,
                                                 const std::atomic<bool>* stop) {
  const std::size_t floats = largest_bytes / sizeof(float) / kStep * kStep;
  std::vector<hwy::AlignedFreeUniquePtr<float[]>> arrays;
  for (std::size_t i = 0; i < team.size(); ++i)
    arrays.push_back(hwy::AllocateAligned<float>(floats));
  if (std::any_of(arrays.begin(), arrays.end(), [](const auto& a) { return a == nullptr; }))
    return {};
  team.run([&](std::size_t thread) { std::fill_n(arrays[thread].get(), floats, 1.0f); });
  std::vector<report::Bandwidth> points;
  std::vector<float> sink(team.size());
  for (const std::uint64_t size : working_sets(largest_bytes)) {
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) break;
    // The three arrays of the triad together are the working set; read and copy use as much.
    const std::size_t third = size / sizeof(float) / 3 / kStep * kStep;
    const std::size_t half = 3 * third / 2 / kStep * kStep;
    const double bytes = sizeof(float);
    report::Bandwidth& point = points.emplace_back();
    point.working_set_bytes = 3 * third * sizeof(float);
    point.read_gbs = team_gbs(team, bytes * 3 * static_cast<double>(third), [&](std::size_t t) {
      sink[t] = HWY_DYNAMIC_DISPATCH(read_array)(arrays[t].get(), 3 * third);
    });
    point.copy_gbs = team_gbs(team, bytes * 2 * static_cast<double>(half), [&](std::size_t t) {
      HWY_DYNAMIC_DISPATCH(copy_array)(arrays[t].get(), arrays[t].get() + half, half);
    });
    point.triad_gbs = team_gbs(team, bytes * 3 * static_cast<double>(third), [&](std::size_t t) {
      float* a = arrays[t].get();
      HWY_DYNAMIC_DISPATCH(triad_array)(a, a + third, a + 2 * third, third);
    });
  }
  return points;
}

}  // namespace hwprof
#endif  // HWY_ONCE
