// What is kept of threads has room for so many, and no sample is lost for that.
#include "src/observe/samples/thread_samples.h"

#include <gtest/gtest.h>

namespace hwprof::observe {
namespace {

TEST(ThreadTable, HasRoomForSoManyThreadsAndCountsTheSamplesOfAll) {
  constexpr int kThreads = static_cast<int>(ThreadTable::kMostThreads) + 5000;
  Images images;
  ThreadTable table;
  const CodePlace hit = images.unknown(0x1000), nowhere{};
  for (int tid = 1; tid <= kThreads; ++tid) {
    table.begins_at(tid, hit);
    table.add(hit, nowhere, tid);
  }
  table.add(hit, nowhere, 1);
  const auto threads = table.resolve(images, [](CodePlace) { return LoopJudgement{}; });
  ASSERT_EQ(threads.size(), ThreadTable::kMostThreads + 1);
  EXPECT_EQ(threads[0].tid, ThreadTable::kLater);
  EXPECT_EQ(threads[0].samples, 5000U);
  EXPECT_EQ(threads[1].tid, 1);
  EXPECT_EQ(threads[1].samples, 2U);
  std::uint64_t samples = 0;
  for (const ThreadSamples& thread : threads) samples += thread.samples;
  EXPECT_EQ(samples, static_cast<std::uint64_t>(kThreads) + 1);
}

// libgomp's loop that spins calls futex(2) once it has spun for long enough, or at once.
TEST(ThreadTable, WhoBlocksInTheKernelDoesNotSpin) {
  Images images;
  const CodePlace loop = images.unknown(0x1000), nowhere{};
  const auto waits_of = [&](CodePlace hit, Wait wait) {
    ThreadTable table;
    table.add(hit, nowhere, 1);
    const auto threads = table.resolve(images, [&](CodePlace place) {
      return place == loop ? LoopJudgement{{}, wait} : LoopJudgement{};
    });
    return threads.at(0).waits.size();
  };
  EXPECT_EQ(waits_of(loop, Wait::kPause), 1U);
  EXPECT_EQ(waits_of(images.kernel(loop), Wait::kPause), 0U);
  EXPECT_EQ(waits_of(images.kernel(loop), Wait::kYield), 1U) << "the kernel's part of a yield";
}

}  // namespace
}  // namespace hwprof::observe
