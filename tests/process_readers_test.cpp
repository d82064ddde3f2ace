// Whoever's processes are looked at can make who reads them wait: in /proc itself, and behind it.
// What is waited for is passed over and said, all others are read.
#include "src/blas/evidence/process_readers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "src/base/text.h"
#include "src/blas/evidence/mapped_library.h"
#include "src/observe/monitor/process_texts.h"
#include "src/observe/proc/maps.h"
#include "src/observe/proc/same_program.h"
#include "tests/fuse_of_user.h"
#include "tests/seen_process.h"

namespace hwprof {
namespace {

using namespace std::chrono_literals;
using blas::LeftReader;
using blas::ReaderTask;
using Clock = std::chrono::steady_clock;
using Held = FuseOfUser::Held;

// As FuseOfUser's: nobody's, where this is root.
Account user_of_tests() {
  return ::geteuid() == 0 ? Account{65534, 65534, {}, "", ""} : own_account();
}

class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "readers-XXXXXX";
    path_ = ::mkdtemp(name.data()) == nullptr ? "" : name;
    ::chmod(path_.c_str(), 0777);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

bool has(const observe::TextsOfAll& all, pid_t pid) {
  return std::any_of(all.texts.begin(), all.texts.end(),
                     [&](const auto& one) { return one.pid == pid; });
}

// Whoever reads when it began waits as well.
observe::SeenProcess held(const FuseOfUser& fuse) { return {fuse.process(), 0}; }

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
  // Of one user: those of others are not even asked for, but what nobody may look into is root's.
  const auto of = observe::read_process_texts({}, 65534, {}, folder.path());
  ASSERT_TRUE(of) << of.error().what;
  EXPECT_EQ(of->texts.size(), 3U);
  EXPECT_TRUE(has(*of, 103) && has(*of, 104) && has(*of, 106));
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

TEST(ProcessReaders, AnExecveThatNeverEndsCostsItsOwnRowAlone) {
  const IdleProcess one, other;
  const FuseOfUser fuse(Held::kExecve);
  if (!fuse.missing().empty()) GTEST_SKIP() << fuse.missing();
  std::vector<LeftReader> left;
  const auto read =
      blas::read_processes({{user_of_tests(), {seen(one.pid()), held(fuse), seen(other.pid())}}},
                           left, {.patience = 500ms, .all = 20s});
  ASSERT_TRUE(read) << read.error().what;
  const auto& rows = read->at(0);
  EXPECT_TRUE(rows[0].read) << rows[0].reason;
  EXPECT_FALSE(rows[1].read);
  EXPECT_EQ(rows[1].reason, "its reader waited in the kernel for it");
  EXPECT_TRUE(rows[2].read) << rows[2].reason;
  EXPECT_TRUE(left.empty());
}

// Each waits for as long as it may: so many at once take so long.
TEST(ProcessReaders, AreSoManyAtOnceAndNoMore) {
  const FuseOfUser fuse(Held::kExecve);
  if (!fuse.missing().empty()) GTEST_SKIP() << fuse.missing();
  const std::vector<ReaderTask> tasks(6, {user_of_tests(), {held(fuse)}});
  for (const auto& limits :
       {blas::ReadersLimits{.at_once = 2, .patience = 200ms, .all = 20s},
        blas::ReadersLimits{.of_one_user = 2, .patience = 200ms, .all = 20s}}) {
    std::vector<LeftReader> left;
    const auto began = Clock::now();
    const auto read = blas::read_processes(tasks, left, limits);
    EXPECT_GE(Clock::now() - began, 600ms);
    ASSERT_TRUE(read);
    for (const auto& rows : *read) EXPECT_NE(rows[0].reason, "");
  }
}

TEST(ProcessReaders, WhatThereIsNoTimeForSaysSo) {
  const FuseOfUser fuse(Held::kExecve);
  if (!fuse.missing().empty()) GTEST_SKIP() << fuse.missing();
  const std::vector<ReaderTask> tasks(3, {user_of_tests(), {held(fuse)}});
  std::vector<LeftReader> left;
  const auto read =
      blas::read_processes(tasks, left, {.at_once = 1, .patience = 10s, .all = 300ms});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->at(0)[0].reason, "its reader took too long, and was ended");
  EXPECT_EQ(read->at(2)[0].reason, "there was no time for it: the readers of others took too long");
}

// Else its number may be another user's by now, whose bytes a reader of root's would take for
// root's.
TEST(ProcessReaders, ReadNoneThatIsNotTheOneThatWasSeen) {
  const IdleProcess idle;
  const Account nobody = user_of_tests();
  const auto read_as = [&](const Account& account, const observe::SeenProcess& process) {
    std::vector<LeftReader> left;
    const auto read = blas::read_processes({{account, {process}}}, left);
    return read ? read->at(0)[0] : blas::ReadProcess();
  };
  EXPECT_TRUE(read_as(nobody, seen(idle.pid())).read);
  observe::SeenProcess before = seen(idle.pid());
  --before.start_ticks;
  EXPECT_FALSE(read_as(nobody, before).read);
  EXPECT_EQ(read_as(nobody, before).reason, "ended meanwhile");
  if (::geteuid() != 0) GTEST_SKIP() << "only root has readers whom the kernel refuses nothing";
  EXPECT_FALSE(read_as(own_account(), seen(idle.pid())).read) << "it is nobody's by now";
}

TEST(ProcessReaders, SystemUsersComeFirstThenWhoHasMost) {
  std::vector<ReaderTask> tasks{{{2000, 1, {}, "", ""}, {{1}}},
                                {{1000, 1, {}, "", ""}, {{2}, {3}}},
                                {{1000, 2, {}, "", ""}, {{4}}},
                                {{7, 1, {}, "", ""}, {{5}}}};
  blas::put_known_users_first(tasks);
  std::vector<uid_t> order;
  for (const ReaderTask& task : tasks) order.push_back(task.account.uid);
  EXPECT_EQ(order, (std::vector<uid_t>{7, 1000, 1000, 2000}));
}

// A process whose root is a folder in which a look-up waits against SIGKILL (errands.h).
pid_t start_in_root(const std::string& root) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  if (::chroot(root.c_str()) != 0 || ::chdir("/") != 0) ::_exit(1);
  become_nobody();
  ::alarm(40);
  while (true) ::pause();
}

TEST(ProcessReaders, AReaderThatCannotBeEndedCostsItsOwnRowAlone) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can have another root folder";
  const Folder folder;
  const IdleProcess idle;
  const pid_t held = start_in_root(folder.path());
  std::vector<LeftReader> left;
  {
    const FuseOfUser fuse(Held::kFolder, 0, folder.path());
    if (fuse.missing().empty()) {
      std::this_thread::sleep_for(200ms);  // until somebody waits for the lock
      const std::vector<ReaderTask> tasks{{user_of_tests(), {seen(held), seen(idle.pid())}}};
      const auto read = blas::read_processes(tasks, left, {.patience = 300ms, .all = 20s});
      ASSERT_TRUE(read);
      EXPECT_FALSE(read->at(0)[0].read);
      EXPECT_TRUE(read->at(0)[1].read) << read->at(0)[1].reason;
      ASSERT_EQ(left.size(), 1U);
      EXPECT_EQ(left[0].process, held);
      // As many as may be left over all looks.
      std::vector<LeftReader> many(256, left[0]);
      const auto none = blas::read_processes({{user_of_tests(), {seen(idle.pid())}}}, many);
      ASSERT_TRUE(none);
      EXPECT_NE(none->at(0)[0].reason.find("cannot be ended"), std::string::npos);
      EXPECT_EQ(left.size(), 1U);
    }
  }
  for (const LeftReader& one : left) EXPECT_EQ(::waitpid(one.reader, nullptr, 0), one.reader);
  ::kill(held, SIGKILL);
  ::waitpid(held, nullptr, 0);
  if (left.empty()) GTEST_SKIP() << "no folder can be held here";
}

std::size_t shared_mappings() {
  const auto maps = observe::parse_maps(read_text_file("/proc/self/maps").value_or(""));
  return static_cast<std::size_t>(std::count_if(
      maps.begin(), maps.end(), [](const auto& line) { return line.shared && line.writable; }));
}

TEST(ProcessReader, WhatOneWritesIsNoOthersToWrite) {
  const std::size_t before = shared_mappings();
  auto reader = blas::ProcessReader::start({seen(::getpid())}, own_account());
  ASSERT_TRUE(reader);
  EXPECT_GT(shared_mappings(), before);
  const pid_t next = ::fork();
  if (next == 0) ::_exit(shared_mappings() == before ? 0 : 1);
  int status = 0;
  ::waitpid(next, &status, 0);
  EXPECT_EQ(status, 0) << "the next one has it, too";
}

TEST(ProcessReader, HasSoMuchMemoryAndNoMore) {
  const FuseOfUser fuse(Held::kExecve);
  if (!fuse.missing().empty()) GTEST_SKIP() << fuse.missing();
  auto reader = blas::ProcessReader::start({held(fuse)}, user_of_tests());
  ASSERT_TRUE(reader);
  std::string limits;
  for (int i = 0; i < 10'000 && limits.find("536870912") == std::string::npos; ++i) {
    ::usleep(1000);
    limits = read_text_file("/proc/" + std::to_string(reader->pid()) + "/limits").value_or("");
  }
  const auto line = limits.find("Max data size");
  ASSERT_NE(line, std::string::npos);
  EXPECT_NE(limits.substr(line, 60).find("536870912"), std::string::npos) << limits;
}

TEST(ReadText, SaysWhereThereIsMoreThanItMayRead) {
  const UniqueFd file(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(read_text(file.get(), 10));
  EXPECT_EQ(errno, EFBIG);
  EXPECT_TRUE(read_text(UniqueFd(::open("/proc/self/comm", O_RDONLY)).get(), 100));
}

TEST(MappedFile, IsKnownByDeviceAndInode) {
  const Folder folder;
  const std::string path = folder.path() + "/file", other = folder.path() + "/other";
  std::ofstream(path) << std::string(8192, 'x');
  std::ofstream(other) << std::string(8192, 'x');
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no file may be executed here";
  const auto files = observe::executable_files(read_text_file("/proc/self/maps").value_or(""));
  ::munmap(memory, 4096);
  const auto mapped =
      std::find_if(files.begin(), files.end(), [&](const auto& one) { return one.path == path; });
  ASSERT_NE(mapped, files.end());
  EXPECT_TRUE(blas::is_mapped_file(file.get(), mapped->file));
  const UniqueFd unlike(::open(other.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(blas::is_mapped_file(unlike.get(), mapped->file));
}

// A process that becomes another program whenever it is told to.
class Restarting {
 public:
  Restarting() : pid_(::fork()) {
    if (pid_ != 0) return;
    ::signal(SIGUSR1, SIG_DFL);
    ::execl("/bin/sh", "sh", "-c", "trap 'exec sleep 40' USR1; while :; do sleep 0.01; done",
            nullptr);
    ::_exit(1);
  }
  Restarting(const Restarting&) = delete;
  Restarting& operator=(const Restarting&) = delete;
  ~Restarting() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  void wait_for(const char* name) const {
    const std::string path = "/proc/" + std::to_string(pid_) + "/comm";
    for (int i = 0; i < 20'000; ++i, ::usleep(1000))
      if (trim(read_text_file(path).value_or("")) == name) return;
    ADD_FAILURE() << "it does not become " << name;
  }
  void restart() const {
    ::usleep(100'000);  // its trap is set
    ::kill(pid_, SIGUSR1);
    wait_for("sleep");
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST(OpenOfOneProgram, GivesNothingThatAnExecveCameBetween) {
  const Restarting process;
  process.wait_for("sh");
  int tries = 0;
  const UniqueFd memory = observe::open_of_one_program(process.pid(), [&]() -> UniqueFd {
    const std::string path = "/proc/" + std::to_string(process.pid()) + "/mem";
    UniqueFd opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (++tries == 1) process.restart();
    return opened;
  });
  ASSERT_TRUE(memory.valid());
  EXPECT_GT(tries, 1);
  // Of what it runs now: the memory of what it was before reads as none.
  const auto maps = observe::parse_maps(
      read_text_file("/proc/" + std::to_string(process.pid()) + "/maps").value_or(""));
  ASSERT_FALSE(maps.empty());
  char byte = 0;
  EXPECT_EQ(::pread64(memory.get(), &byte, 1, static_cast<off64_t>(maps[0].start)), 1);
}

// A long execve has no page fault between the exchange of the memory and its own end.
TEST(OpenOfOneProgram, TellsPagesFaultsAndAddressesApart) {
  const auto stat = [](const std::string& minor, const std::string& stack, const std::string& end) {
    std::string text = "7 (a b) S 1 1 1 0 -1 4 " + minor + " 0 2 0";
    for (int field = 14; field <= 52; ++field)
      text += " " + (field == 28 ? stack : field == 51 ? end : std::to_string(field));
    return observe::program_marks_in(text + "\n");
  };
  const auto one = stat("10", "4096", "8192");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->page_faults, 12U) << "the major ones, too";
  EXPECT_EQ(stat("10", "4096", "8192"), one);
  EXPECT_NE(stat("11", "4096", "8192"), one);
  EXPECT_NE(stat("10", "0", "8192"), one);
  EXPECT_NE(stat("10", "4096", "0"), one);
  EXPECT_FALSE(observe::program_marks_in("7 (a b) S 1 1 1 0 -1 4 10 0 2 0"))
      << "of a kernel before 3.5";
}

TEST(OpenOfOneProgram, IsNoneOfAProcessThatIsGone) {
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  EXPECT_FALSE(observe::open_of_one_program(gone, [] { return UniqueFd(::dup(0)); }).valid());
}

}  // namespace
}  // namespace hwprof
