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

}  // namespace
}  // namespace hwprof::observe
