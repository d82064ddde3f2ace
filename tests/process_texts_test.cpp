// Who makes a reader of /proc wait, or tells too much there, costs nobody else's row.
#include "src/observe/monitor/process_texts.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/fuse_of_user.h"
#include "tests/readers_folder.h"

namespace hwprof {
namespace {

using namespace std::chrono_literals;
using Held = FuseOfUser::Held;

bool has(const observe::TextsOfAll& all, pid_t pid) {
  return std::any_of(all.texts.begin(), all.texts.end(),
                     [&](const auto& one) { return one.pid == pid; });
}

TEST(ProcessTexts, AreOfEachProcessButThisOne) {
  const IdleProcess idle;
  const auto all = observe::read_process_texts();
  ASSERT_TRUE(all) << all.error().what;
  EXPECT_TRUE(has(*all, idle.pid()));
  EXPECT_FALSE(has(*all, ::getpid()));
  EXPECT_FALSE(has(*observe::read_process_texts({idle.pid()}), idle.pid())) << "it is passed over";
}

TEST(ProcessTexts, WhatIsWaitedForIsPassedOverAndAFileThatIsMissingIsNone) {
  const Folder folder;
  for (const char* pid : {"100", "101", "102"}) {
    const std::string own = folder.path() + "/" + pid;
    std::filesystem::create_directory(own);
    std::ofstream(own + "/status") << "status of " << pid;
    if (std::string(pid) == "101") {
      ASSERT_EQ(::mkfifo((own + "/stat").c_str(), 0600), 0);
    } else {
      std::ofstream(own + "/stat") << "stat of " << pid;
    }
  }
  const auto all = observe::read_process_texts({}, {}, {.one = 200ms, .all = 20s}, folder.path());
  ASSERT_TRUE(all) << all.error().what;
  EXPECT_EQ(all->held, std::vector<pid_t>{101});
  EXPECT_TRUE(all->left.empty());
  ASSERT_EQ(all->texts.size(), 2U);
  EXPECT_TRUE(has(*all, 100));
  EXPECT_TRUE(has(*all, 102));
  for (const auto& one : all->texts) {
    EXPECT_EQ(one.stat, "stat of " + std::to_string(one.pid));
    EXPECT_EQ(one.status, "status of " + std::to_string(one.pid));
    EXPECT_EQ(one.cgroup, "") << "a kernel without them";
  }
}

// A folder like that of a process.
void put_process(const Folder& folder, pid_t pid, const std::string& status) {
  const std::string own = folder.path() + "/" + std::to_string(pid);
  std::filesystem::create_directory(own);
  std::ofstream(own + "/stat") << "stat";
  std::ofstream(own + "/status") << status;
}

TEST(ProcessTexts, WhatIsTooLongIsSaidAndNotCut) {
  const Folder folder;
  put_process(folder, 100, std::string((1U << 20U) + 1, 'g'));
  put_process(folder, 101, std::string(800'000, 'g'));  // of as many groups as there may be
  const auto all = observe::read_process_texts({}, {}, {}, folder.path());
  ASSERT_TRUE(all) << all.error().what;
  EXPECT_EQ(all->too_much, std::vector<pid_t>{100});
  ASSERT_EQ(all->texts.size(), 1U);
  EXPECT_EQ(all->texts[0].status.size(), 800'000U);
}

TEST(ProcessTexts, WhatIsUsualIsReadOfAUserWhoseOthersAreTooLong) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: files of two users";
  const Folder folder;
  for (pid_t pid = 100; pid < 240; ++pid) {
    put_process(folder, pid, std::string(pid < 120 ? 1'000'000 : 8'000, 'g'));
    ASSERT_EQ(::chown((folder.path() + "/" + std::to_string(pid)).c_str(), 65534, 65534), 0);
  }
  put_process(folder, 240, std::string(1'000'000, 'g'));
  const auto all = observe::read_process_texts({}, {}, {.all = 20s}, folder.path());
  ASSERT_TRUE(all) << all.error().what;
  EXPECT_EQ(all->too_much.size(), 4U) << "of 20 MB";
  for (const pid_t pid : all->too_much) EXPECT_LT(pid, 120);
  EXPECT_TRUE(has(*all, 240)) << "another user's";
}

TEST(ProcessTexts, AreOfEachUserByTurns) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: files of two users";
  const Folder folder;
  const auto owned = [&](pid_t pid, uid_t owner) {
    put_process(folder, pid, "status");
    ASSERT_EQ(::chown((folder.path() + "/" + std::to_string(pid)).c_str(), owner, owner), 0);
  };
  for (const pid_t pid : {100, 101, 102}) owned(pid, 65533);
  for (const pid_t pid : {103, 104}) owned(pid, 65534);
  owned(105, 7);
  owned(106, 0);
  const auto all = observe::read_process_texts({}, {}, {}, folder.path());
  ASSERT_TRUE(all) << all.error().what;
  const auto user_at = [&](std::size_t i) {
    const pid_t pid = all->texts.at(i).pid;
    return pid >= 105 ? 0 : pid >= 103 ? 65534 : 65533;
  };
  EXPECT_EQ(user_at(0) + user_at(1), 0) << "system users first";
  EXPECT_EQ(user_at(2), 65533) << "who has most";
  EXPECT_EQ(user_at(3), 65534);
  EXPECT_EQ(user_at(4), 65533);
  EXPECT_EQ(user_at(5), 65534);
  EXPECT_EQ(user_at(6), 65533);
  // Of one user: those of others are not even asked for.
  const auto of = observe::read_process_texts({}, 65534, {}, folder.path());
  ASSERT_TRUE(of) << of.error().what;
  EXPECT_EQ(of->texts.size(), 2U);
  EXPECT_TRUE(has(*of, 103) && has(*of, 104));
}

TEST(ProcessTexts, SubordinateIdsCountAsOneUser) {
  const observe::SubordinateIds ids(
      "ann:100000:65536\nbob:165536:65536\nnonsense\nc:1:0\nd:4294967295:9\n");
  EXPECT_EQ(ids.counts_as(1000), 1000U);
  EXPECT_EQ(ids.counts_as(99'999), 99'999U);
  EXPECT_EQ(ids.counts_as(100'000), 100'000U);
  EXPECT_EQ(ids.counts_as(165'535), 100'000U);
  EXPECT_EQ(ids.counts_as(165'536), 165'536U);
  EXPECT_EQ(ids.counts_as(231'072), 231'072U);
  EXPECT_EQ(ids.counts_as(1), 1U);
}

TEST(ProcessTexts, WhoseTextsTookLongLetsTheOthersGoFirst) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: files of two users";
  const Folder folder;
  for (const pid_t pid : {100, 101, 102, 103, 104}) {
    put_process(folder, pid, "status");
    const uid_t owner = pid >= 103 ? 65533 : 65534;
    ASSERT_EQ(::chown((folder.path() + "/" + std::to_string(pid)).c_str(), owner, owner), 0);
  }
  for (const char* pid : {"/100", "/101", "/102"}) {  // whoever reads their stat waits
    const std::string stat = folder.path() + pid + "/stat";
    std::filesystem::remove(stat);
    ASSERT_EQ(::mkfifo(stat.c_str(), 0600), 0);
  }
  const auto all = observe::read_process_texts({}, {}, {.one = 200ms, .all = 20s}, folder.path());
  ASSERT_TRUE(all) << all.error().what;
  EXPECT_EQ(all->held.size(), 3U);
  EXPECT_TRUE(has(*all, 103) && has(*all, 104));
  // Without time: one wait, then both of the other user's; by turns alone there would be a second.
  const auto some =
      observe::read_process_texts({}, {}, {.one = 600ms, .all = 800ms}, folder.path());
  ASSERT_TRUE(some) << some.error().what;
  EXPECT_TRUE(has(*some, 103) && has(*some, 104));
  EXPECT_FALSE(some->untold.empty());
}

TEST(ProcessTexts, AnExecveThatNeverEndsHoldsNobodyUp) {
  const IdleProcess idle;
  const FuseOfUser fuse(Held::kExecve);
  if (!fuse.missing().empty()) GTEST_SKIP() << fuse.missing();
  const auto all = observe::read_process_texts({}, {}, {.one = 500ms, .all = 20s});
  ASSERT_TRUE(all) << all.error().what;
  // Not every kernel lets who reads its stat wait.
  EXPECT_TRUE(has(*all, fuse.process()) ||
              std::count(all->held.begin(), all->held.end(), fuse.process()) == 1)
      << all->held.size() << " others held";
  EXPECT_TRUE(has(*all, idle.pid()));
  EXPECT_TRUE(all->untold.empty());
}

}  // namespace
}  // namespace hwprof
