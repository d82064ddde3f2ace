// Of which programs every call could be seen, from the kernel's records.
#include "src/observe/calls/executions.h"

#include <gtest/gtest.h>

#include <vector>

namespace hwprof::observe {
namespace {

constexpr int kProgram = 10, kThread = 11, kChild = 20, kSibling = 21;

Record exec(int pid) { return {0, Named{pid, pid, true, "program"}}; }
Record mapping(int pid) { return {0, Mapped{pid, 0x1000, 0x1000, 0, {}, "/bin/program"}}; }
Record fork(int pid, int parent) { return {0, Forked{pid, parent, pid}}; }
Record thread(int pid, int tid) { return {0, Forked{pid, pid, tid}}; }
Record end(int pid, int tid) { return {0, Exited{pid, tid}}; }

std::uint64_t unwatched_after(const std::vector<Record>& records, bool exchanged = true) {
  Executions executions;
  if (exchanged) executions.events_are_exchanged();
  for (const Record& record : records) executions.apply(record);
  return executions.count() - executions.watched();
}

TEST(Executions, AreWatchedWhereTheKernelTellsWhatTheyMap) {
  EXPECT_EQ(unwatched_after({exec(kProgram), mapping(kProgram)}), 0U);
  EXPECT_EQ(unwatched_after({exec(kProgram), mapping(kProgram), fork(kChild, kProgram),
                             exec(kChild), mapping(kChild), end(kChild, kChild)},
                            false),
            0U);
}

// Emulators and the like: the code that runs is a copy or a translation.
TEST(Executions, OfTranslatorsAreNotWatched) {
  for (const char* path :
       {"/usr/bin/qemu-aarch64-static", "/usr/libexec/valgrind/memcheck-amd64-linux",
        "/opt/wine/bin/wine64-preloader"}) {
    const Record translator{0, Mapped{kProgram, 0x1000, 0x1000, 0, {}, path}};
    EXPECT_EQ(unwatched_after({exec(kProgram), translator, exec(kChild), mapping(kChild)}), 1U)
        << path;
  }
  const Record other{0, Mapped{kProgram, 0x1000, 0x1000, 0, {}, "/home/qemu-user/train"}};
  EXPECT_EQ(unwatched_after({exec(kProgram), other}), 0U);
}

TEST(Executions, ThatGoOnAreNotWatchedToTheirEnd) {
  Executions executions;
  for (const Record& record :
       {exec(kProgram), mapping(kProgram), fork(kChild, kProgram), exec(kChild), mapping(kChild),
        fork(kSibling, kProgram), end(kSibling, kSibling), end(kProgram, kProgram)}) {
    executions.apply(record);
  }
  executions.miss_what_goes_on({kChild, kSibling});
  EXPECT_EQ(executions.count(), 2U);
  EXPECT_EQ(executions.watched(), 1U);
  EXPECT_EQ(executions.going_on(), 1U) << "the other has ended in between";
}

// The kernel has taken its events away: it has other rights, or its file may not be read.
TEST(Executions, WithoutAMappingWereNotWatched) {
  EXPECT_EQ(unwatched_after({exec(kProgram)}), 1U);
  EXPECT_EQ(unwatched_after({exec(kProgram), mapping(kProgram), exec(kProgram)}), 1U);
}

// What the thread that goes on has may be the events of one that has ended.
TEST(Executions, OfAProcessThatHadThreadsMayNotBeWatched) {
  const std::vector<Record> records = {exec(kProgram), mapping(kProgram), thread(kProgram, kThread),
                                       end(kProgram, kProgram)};
  EXPECT_EQ(unwatched_after(records), 1U);
  EXPECT_EQ(unwatched_after(records, false), 0U);
  std::vector<Record> more = records;
  more.insert(more.end(), {exec(kProgram), mapping(kProgram)});
  EXPECT_EQ(unwatched_after(more), 2U);
  EXPECT_EQ(unwatched_after(more, false), 0U);
}

// Also what they go on with, without an execve.
TEST(Executions, AfterTheEndOfWhoeverSharedItsEventsMayNotBeWatched) {
  const std::vector<Record> begin = {exec(kProgram), mapping(kProgram), fork(kChild, kProgram)};
  const auto with = [&](std::vector<Record> more, bool exchanged = true) {
    more.insert(more.begin(), begin.begin(), begin.end());
    return unwatched_after(more, exchanged);
  };
  EXPECT_EQ(with({end(kProgram, kProgram)}), 1U);
  EXPECT_EQ(with({end(kChild, kChild)}), 1U);
  EXPECT_EQ(with({end(kChild, kChild)}, false), 0U);
  EXPECT_EQ(with({end(kProgram, kProgram), exec(kChild), mapping(kChild)}), 2U);
  EXPECT_EQ(with({end(kProgram, kProgram), exec(kChild), mapping(kChild)}, false), 0U);
  EXPECT_EQ(with({end(kChild, kChild), exec(kProgram), mapping(kProgram)}), 2U);
  EXPECT_EQ(
      with({fork(kSibling, kProgram), end(kSibling, kSibling), exec(kChild), mapping(kChild)}), 2U);
  // One that was forked afterwards shares nothing with it.
  EXPECT_EQ(
      with({end(kChild, kChild), fork(kSibling, kProgram), exec(kSibling), mapping(kSibling)}), 1U);
}

}  // namespace
}  // namespace hwprof::observe
