// The runner's bookkeeping; nothing here asserts a time.
#include "src/measure/runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace hwprof {
namespace {

RunnerOptions quick() {
  // Done with the least number of samples, however noisy: a busy machine must not fail a test.
  return {.budget_s = 30,
          .slice_s = 0.001,
          .peak_slice_s = 0.0005,
          .target_half_width = 1e9,
          .min_samples = 6};
}

TEST(Runner, CountsEveryCallThatItTimes) {
  ThreadTeam team(1, {});
  std::uint64_t calls = 0;
  const std::vector<Work> work = {{.run = [&] { ++calls; }, .flops = 10}};
  const std::atomic<bool> stop{false};
  const RunResult result = run_interleaved(work, team, nullptr, quick(), stop, [](double) {});
  ASSERT_EQ(result.work.size(), 1U);
  const Measurement& measured = result.work[0];
  EXPECT_EQ(measured.calls + 2, calls) << "all calls but the two that warm up are timed";
  EXPECT_GE(measured.call_ns.size(), 6U);
  EXPECT_EQ(measured.peak_ratio.size(), measured.call_ns.size());
  EXPECT_EQ(measured.conditions.size(), measured.call_ns.size());
  for (std::size_t i = 0; i < measured.conditions.size(); ++i) {
    EXPECT_EQ(measured.conditions[i].peak_gflops,
              (result.peak_gflops[i] + result.peak_gflops[i + 1]) / 2);
  }
  EXPECT_EQ(result.peak_gflops.size(), measured.call_ns.size() + 1) << "a peak on either side";
  EXPECT_LE(measured.min_ns, *std::min_element(measured.call_ns.begin(), measured.call_ns.end()));
  EXPECT_FALSE(result.interrupted);
}

TEST(Runner, WorkWithoutFlopHasNoFractionOfPeak) {
  ThreadTeam team(1, {});
  const std::vector<Work> work = {{.run = [] {}, .flops = 0}};
  const std::atomic<bool> stop{false};
  const RunResult result = run_interleaved(work, team, nullptr, quick(), stop, [](double) {});
  EXPECT_TRUE(result.work[0].peak_ratio.empty());
}

TEST(Runner, WorkThatHasEnoughIsLookedAtAgainWhileOtherWorkGoesOn) {
  ThreadTeam team(1, {});
  const std::vector<Work> work = {
      {.run = [] {}, .flops = 1},
      {.run = [] { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }, .flops = 1}};
  const std::atomic<bool> stop{false};
  const RunResult result = run_interleaved(work, team, nullptr, quick(), stop, [](double) {});
  EXPECT_EQ(result.work[1].call_ns.size(), 6U);
  EXPECT_GT(result.work[0].call_ns.size(), 6U) << "0.6 s of sleep, and 6 slices were enough";
}

TEST(Runner, SlowWorkIsMeasuredAtLeastOnceWhenTheBudgetIsGone) {
  ThreadTeam team(1, {});
  RunnerOptions options = quick();
  options.budget_s = 0;
  const std::vector<Work> work = {
      {.run = [] { std::this_thread::sleep_for(std::chrono::milliseconds(3)); }, .flops = 1},
      {.run = [] {}, .flops = 1}};
  const std::atomic<bool> stop{false};
  const RunResult result = run_interleaved(work, team, nullptr, options, stop, [](double) {});
  EXPECT_EQ(result.work[0].call_ns.size(), 1U);
  EXPECT_EQ(result.work[1].call_ns.size(), 1U);
}

TEST(Runner, AnInterruptKeepsWhatWasMeasured) {
  ThreadTeam team(1, {});
  std::atomic<bool> stop{false};
  int calls = 0;
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
  const auto pause_and_stop = [&] {
    pause();
    stop = ++calls > 20;
  };
  const std::vector<Work> work = {{.run = pause_and_stop, .flops = 1}, {.run = pause, .flops = 1}};
  RunnerOptions options = quick();
  options.target_half_width = 0;  // never narrow enough
  const RunResult result = run_interleaved(work, team, nullptr, options, stop, [](double) {});
  EXPECT_TRUE(result.interrupted);
  EXPECT_FALSE(result.work[1].call_ns.empty());
}

TEST(Peak, EveryKernelOfThisCpuHasARateAndWiderIsNotSlowerThanScalar) {
  double scalar = 0, best = 0;
  for (const FmaKernel& kernel : fma_kernels()) {
    const double gflops = fma_slice_gflops(kernel, 0.005);
    EXPECT_GT(gflops, 0) << kernel.isa;
    if (kernel.isa == "scalar") scalar = gflops;
    best = std::max(best, gflops);
  }
  EXPECT_GT(scalar, 0);
  EXPECT_GE(best, scalar);
}

}  // namespace
}  // namespace hwprof
