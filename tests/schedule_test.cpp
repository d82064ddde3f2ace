// The scheduler's bookkeeping; nothing here asserts a time.
#include "src/measure/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "counters/machine.h"

namespace hwprof {
namespace {

Work work_of(std::function<void()> run, double flops) {
  return {.parts = {{std::move(run), flops}}};
}

ScheduleOptions quick() {
  // So many slices, however long they take: a busy machine must not fail a test.
  return {.slice_s = 0.001, .longest_peak_s = 0.0005, .repeat = 6};
}

TEST(Schedule, CountsEveryCallThatItTimes) {
  ThreadTeam team(1, {});
  std::uint64_t calls = 0;
  const std::vector<Work> work = {work_of([&] { ++calls; }, 10)};
  const std::atomic<bool> stop{false};
  const ScheduleResult result = run_interleaved(work, team, nullptr, quick(), stop, [](double) {});
  ASSERT_EQ(result.work.size(), 1U);
  const Measurement& measured = result.work[0].whole;
  EXPECT_EQ(measured.calls + 2, calls) << "all calls but the two that warm up are timed";
  EXPECT_EQ(measured.slices.size(), 6U);
  EXPECT_EQ(measured.peak_ratios().size(), 6U);
  EXPECT_EQ(measured.slices.size() * measured.calls_a_slice, measured.calls);
  EXPECT_EQ(result.peak_gflops.size(), measured.pieces.size() + 1) << "a peak on either side";
  const std::vector<double> work_ns = measured.values(&report::Slice::work_ns);
  EXPECT_LE(measured.min_ns, *std::min_element(work_ns.begin(), work_ns.end()));
  EXPECT_FALSE(result.interrupted);
}

void pass_time(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// The work itself is the peak: whatever else runs on the machine, it is the whole of it. The bounds
// are wide, since a host may take the core in the middle of a pair.
TEST(Schedule, WhatIsAsFastAsThePeakReachesThePeak) {
  ThreadTeam team(1, {});
  const FmaKernel& kernel = fastest_fma_kernel();
  constexpr std::uint64_t kSteps = 20'000;
  const std::vector<Work> work = {
      work_of([&] { kernel.run(kSteps); }, kernel.flops_per_step * kSteps)};
  const std::atomic<bool> stop{false};
  ScheduleOptions options = quick();
  options.repeat = 40;
  const ScheduleResult result = run_interleaved(work, team, nullptr, options, stop, [](double) {});
  std::vector<double> ratios = result.work[0].whole.peak_ratios();
  std::sort(ratios.begin(), ratios.end());
  EXPECT_NEAR(ratios[ratios.size() / 2], 1, 0.1);
}

// Sleeping stands for waiting: the thread is not on its CPU.
TEST(Schedule, TimeOffTheCpuIsInTheWallTimeOnly) {
  ThreadTeam team(1, {});
  const std::vector<Work> work = {work_of([] { pass_time(0.01); }, 1)};
  const std::atomic<bool> stop{false};
  const ScheduleResult result = run_interleaved(work, team, nullptr, quick(), stop, [](double) {});
  const Measurement& measured = result.work[0].whole;
  for (const report::Slice& slice : measured.slices) {
    EXPECT_GE(slice.ns, 10e6);
    EXPECT_LT(slice.work_ns, slice.ns / 2);
  }
  EXPECT_LT(measured.on_cpu_ns, measured.wall_ns / 2);
}

TEST(Schedule, SeveralThreadsAreTimedByTheWallClock) {
  ThreadTeam team(2, {});
  std::vector<Work> work = {work_of([&] { team.run([](std::size_t) { pass_time(0.01); }); }, 1)};
  work[0].threads = 2;
  const std::atomic<bool> stop{false};
  const ScheduleResult result = run_interleaved(work, team, nullptr, quick(), stop, [](double) {});
  for (const report::Slice& slice : result.work[0].whole.slices) EXPECT_GE(slice.work_ns, 10e6);
}

TEST(Schedule, WorkWithoutFlopHasNoFractionOfPeak) {
  ThreadTeam team(1, {});
  const std::vector<Work> work = {work_of([] {}, 0)};
  const std::atomic<bool> stop{false};
  const ScheduleResult result = run_interleaved(work, team, nullptr, quick(), stop, [](double) {});
  EXPECT_TRUE(result.work[0].whole.peak_ratios().empty());
}

TEST(Schedule, AllWorkIsMeasuredUntilTheBudgetEnds) {
  ThreadTeam team(1, {});
  const std::vector<Work> work = {work_of([] {}, 1), work_of([] { pass_time(0.01); }, 1)};
  const std::atomic<bool> stop{false};
  const auto begin = std::chrono::steady_clock::now();
  const ScheduleResult result =
      run_interleaved(work, team, nullptr, {.budget_s = 0.3}, stop, [](double) {});
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(300));
  for (const WorkTimes& times : result.work) EXPECT_FALSE(times.whole.slices.empty());
}

TEST(Schedule, SlowWorkIsMeasuredAtLeastOnceWhenTheBudgetIsGone) {
  ThreadTeam team(1, {});
  const ScheduleOptions options{.budget_s = 0};
  const std::vector<Work> work = {
      work_of([] { std::this_thread::sleep_for(std::chrono::milliseconds(3)); }, 1),
      work_of([] {}, 1)};
  const std::atomic<bool> stop{false};
  const ScheduleResult result = run_interleaved(work, team, nullptr, options, stop, [](double) {});
  EXPECT_EQ(result.work[0].whole.slices.size(), 1U);
  EXPECT_EQ(result.work[1].whole.slices.size(), 1U);
}

TEST(Schedule, TurnsGoOnWhereTheyStopped) {
  ThreadTeam team(1, {});
  std::uint64_t calls = 0;
  const std::vector<Work> work = {work_of([&] { ++calls; }, 10), work_of([] {}, 10)};
  const std::atomic<bool> stop{false};
  Interleaving turns(work, team, nullptr, quick());
  EXPECT_EQ(turns.share_done(), 0);
  std::vector<std::size_t> slices;
  for (const double until : {0.5, 0.5, 1.0}) {
    turns.run_until(until, stop, [](double) {});
    EXPECT_DOUBLE_EQ(turns.share_done(), until);
    slices.push_back(turns.so_far().work[0].whole.slices.size());
  }
  EXPECT_EQ(slices, (std::vector<std::size_t>{3, 3, 6}));
  const ScheduleResult result = std::move(turns).result();
  EXPECT_EQ(result.work[0].whole.calls + 2, calls) << "warmed up once";
}

TEST(Schedule, TheBudgetIsThatOfAllTurnsTogether) {
  ThreadTeam team(1, {});
  const std::vector<Work> work = {work_of([] {}, 1)};
  const std::atomic<bool> stop{false};
  Interleaving turns(work, team, nullptr, {.budget_s = 0.2, .slice_s = 0.001});
  turns.run_until(0.5, stop, [](double) {});
  const std::size_t half = turns.so_far().work[0].whole.slices.size();
  EXPECT_GE(turns.share_done(), 0.5);
  turns.run_until(0.5, stop, [](double) {});
  EXPECT_EQ(turns.so_far().work[0].whole.slices.size(), half) << "nothing left to do";
  turns.run_until(1, stop, [](double) {});
  EXPECT_EQ(turns.share_done(), 1);
  EXPECT_GT(turns.so_far().work[0].whole.slices.size(), half);
}

TEST(Schedule, WorkIsComparedWithTheSlicesOfTheBaselineAroundIt) {
  ThreadTeam team(1, {});
  std::string order;
  // In nanoseconds of a call: what each says of itself, the second as the machine slows down.
  const auto says = [&order](char name, double first, double step) {
    return Work{.parts = {{.flops = 10,
                           .slice_ns = [&order, name, ns = first - step,
                                        step](double) mutable -> std::optional<double> {
                             order += name;
                             return ns += step;
                           }}}};
  };
  const std::vector<Work> work = {says('a', 300, 0), says('b', 100, 20), says('c', 600, 0)};
  const std::atomic<bool> stop{false};
  ScheduleOptions options = quick();
  options.repeat = 2;
  options.baseline = 1;
  options.peak = &fma_kernels().front();
  const ScheduleResult result = run_interleaved(work, team, nullptr, options, stop, [](double) {});
  EXPECT_FALSE(result.interrupted);
  ASSERT_EQ(order.size(), 9U);
  EXPECT_EQ(std::count(order.begin(), order.end(), 'a'), 2) << order;
  for (std::size_t i = 0; i < order.size(); i += 2) EXPECT_EQ(order[i], 'b') << order;
  EXPECT_TRUE(result.work[1].whole.baseline_ratios.empty());
  for (const std::size_t i : {0U, 2U}) {
    const Measurement& measured = result.work[i].whole;
    ASSERT_EQ(measured.baseline_ratios.size(), 2U);
    for (std::size_t slice = 0, at = 0; slice < 2; ++slice, ++at) {
      at = order.find("a.c"[i], at);
      const std::size_t pair = at / 2;
      const double around_ns = 100 + 20 * (static_cast<double>(pair) + 0.5);
      EXPECT_DOUBLE_EQ(measured.baseline_ratios[slice], (i == 0 ? 300 : 600) / around_ns) << order;
    }
    EXPECT_EQ(measured.peak_ratios().size(), 2U);
  }
}

TEST(Schedule, WorkThatHasGoneEndsTheMeasurement) {
  ThreadTeam team(1, {});
  int left = 3;
  const std::vector<Work> work = {work_of([] {}, 0),
                                  {.parts = {{.slice_ns = [&](double) -> std::optional<double> {
                                     return left-- > 0 ? std::optional(50.0) : std::nullopt;
                                   }}}}};
  const std::atomic<bool> stop{false};
  const ScheduleResult result = run_interleaved(work, team, nullptr, quick(), stop, [](double) {});
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.work[1].whole.values(&report::Slice::work_ns), std::vector<double>(3, 50.0));
}

TEST(Schedule, AnInterruptKeepsWhatWasMeasured) {
  ThreadTeam team(1, {});
  std::atomic<bool> stop{false};
  int calls = 0;
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
  const auto pause_and_stop = [&] {
    pause();
    stop = ++calls > 20;
  };
  const std::vector<Work> work = {work_of(pause_and_stop, 1), work_of(pause, 1)};
  const ScheduleResult result =
      run_interleaved(work, team, nullptr, {.budget_s = 30}, stop, [](double) {});
  EXPECT_TRUE(result.interrupted);
  EXPECT_FALSE(result.work[1].whole.slices.empty());
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

// Highway has no target for AVX without FMA, nor arrays of SVE vectors.
TEST(Peak, VectorsThatHighwayDoesNotCompileForHaveAKernelToo) {
  const auto has = [](std::string_view isa) {
    return std::any_of(fma_kernels().begin(), fma_kernels().end(),
                       [&](const FmaKernel& kernel) { return kernel.isa == isa; });
  };
  const std::vector<std::string> isa = probe_machine(0).isa;
  for (const char* name : {"avx", "sve"})
    EXPECT_EQ(has(name), std::find(isa.begin(), isa.end(), name) != isa.end()) << name;
}

// A chain of two layers that counts how often each ran, and sees whether they came in turn.
struct Chain {
  int first = 0, second = 0;
  bool in_turn = true;

  Work work() {
    return {.parts = {{[this] { in_turn = in_turn && first++ == second; }, 100},
                      {[this] { in_turn = in_turn && ++second == first; }, 0}},
            .by_part = true};
  }
};

ScheduleResult run(std::span<const Work> work, const ScheduleOptions& options,
                   bool stopped = false) {
  ThreadTeam team(1, {});
  const std::atomic<bool> stop{stopped};
  return run_interleaved(work, team, nullptr, options, stop, [](double) {});
}

TEST(ScheduleByPart, EachChainHasExactlyTheRepeatsAskedFor) {
  Chain a, b;
  const Work work[] = {a.work(), b.work()};
  const ScheduleResult result = run(work, {.repeat = 37});
  ASSERT_EQ(result.work.size(), 2U);
  for (const WorkTimes& chain : result.work) {
    EXPECT_EQ(chain.whole.slices.size(), 37U);
    EXPECT_EQ(chain.sum.slices.size(), 37U);
    for (const Measurement& part : chain.parts) EXPECT_EQ(part.slices.size(), 37U);
    EXPECT_EQ(chain.parts[0].peak_ratios().size(), 37U);
    EXPECT_TRUE(chain.parts[1].peak_ratios().empty()) << "it has no FLOP";
  }
  EXPECT_TRUE(a.in_turn && b.in_turn);
  EXPECT_GE(a.first, 2 * 37);
  EXPECT_GT(result.work[0].clock_ns, 0);
}

TEST(ScheduleByPart, ThePartsOfACallAddUpToItsSum) {
  Chain chain;
  const Work work[] = {chain.work()};
  const ScheduleResult result = run(work, {.repeat = 5});
  const WorkTimes& times = result.work[0];
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(times.parts[0].slices[i].work_ns + times.parts[1].slices[i].work_ns,
                times.sum.slices[i].work_ns, 0.5);
  }
}

TEST(ScheduleByPart, WithoutTimeThereAreStillEnoughForAnInterval) {
  Chain chain;
  const Work work[] = {chain.work()};
  const ScheduleResult result = run(work, {.budget_s = 0});
  EXPECT_GE(result.work[0].whole.slices.size(), kMinSamplesForInterval);
}

TEST(ScheduleByPart, AStopEndsItAndIsSaid) {
  Chain chain;
  const Work work[] = {chain.work()};
  const ScheduleResult result = run(work, {.repeat = 5}, true);
  EXPECT_TRUE(result.interrupted);
  EXPECT_TRUE(result.work[0].whole.slices.empty());
}

// A clock that steps back by a second in each fifth reading, and one that always does.
double stepping_clock() {
  static double now_ns = 1e12;
  static int readings = 0;
  return now_ns += ++readings % 5 == 0 ? -1e9 : 1e6;
}
double backward_clock() {
  static double now_ns = 1e12;
  return now_ns -= 1e3;
}

TEST(Schedule, PiecesInWhichAClockSteppedBackAreNotThere) {
  ThreadTeam team(1, {});
  const std::atomic<bool> stop{false};
  ScheduleOptions options = quick();
  options.clocks.cpu_ns = stepping_clock;
  const std::vector<Work> work = {work_of([] {}, 10)};
  const ScheduleResult result = run_interleaved(work, team, nullptr, options, stop, [](double) {});
  EXPECT_GT(result.clock_steps, 0U);
  ASSERT_FALSE(result.work[0].whole.slices.empty());
  for (const report::Slice& slice : result.work[0].whole.slices) {
    EXPECT_GT(slice.work_ns, 0);
    EXPECT_LT(slice.work_ns, 1e9);
  }
}

TEST(Schedule, AClockThatOnlyStepsBackLeavesNoNumberAndEnds) {
  ThreadTeam team(1, {});
  const std::atomic<bool> stop{false};
  ScheduleOptions options = quick();
  options.clocks.cpu_ns = backward_clock;
  const std::vector<Work> work = {work_of([] {}, 10),
                                  {.parts = {{[] {}}, {[] {}}}, .by_part = true}};
  const ScheduleResult result = run_interleaved(work, team, nullptr, options, stop, [](double) {});
  for (const WorkTimes& times : result.work) {
    EXPECT_TRUE(times.whole.slices.empty());
    EXPECT_TRUE(times.whole.lost);
  }
}

TEST(Schedule, SlicesOnACpuThatIsNotTheirsAreLeftOutEvenIfNoneRemains) {
  ThreadTeam team(1, {});
  const std::atomic<bool> stop{false};
  ScheduleOptions options = quick();
  options.repeat.reset();
  options.budget_s = 0.05;
  options.cpus = {4095};  // where nothing can run
  const std::vector<Work> work = {work_of([] {}, 10),
                                  {.parts = {{[] {}}, {[] {}}}, .by_part = true}};
  Result<Counting> counting = Counting::open(probe_machine(current_cpu()), current_cpu(),
                                             std::vector<std::string>{"task-clock"}, {});
  ASSERT_TRUE(counting);
  const ScheduleResult result =
      run_interleaved(work, team, &*counting, options, stop, [](double) {});
  EXPECT_TRUE(result.peak_gflops.empty()) << "the peak of another CPU";
  for (const WorkTimes& times : result.work) {
    EXPECT_TRUE(times.whole.slices.empty());
    EXPECT_GT(times.whole.left_out.elsewhere, 0U);
    EXPECT_FALSE(times.whole.lost) << "no clock stepped back";
    EXPECT_TRUE(times.whole.tally.passes.empty()) << "counts of another CPU";
  }
}

}  // namespace
}  // namespace hwprof
