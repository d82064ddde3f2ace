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
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "src/base/text.h"
#include "src/blas/evidence/mapped_library.h"
#include "src/observe/monitor/process_texts.h"
#include "src/observe/proc/maps.h"
#include "src/observe/proc/same_program.h"
#include "tests/fuse_of_user.h"
#include "tests/readers_folder.h"
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

// Whoever reads when it began waits as well.
observe::SeenProcess held(const FuseOfUser& fuse) { return {fuse.process()}; }

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
  EXPECT_EQ(read_as(nobody, before).reason,
            "ended meanwhile, or became another program or another user's");
  observe::SeenProcess of_other = seen(idle.pid());
  ++of_other.user;
  EXPECT_FALSE(read_as(nobody, of_other).read) << "its row would have the wrong user";
  if (::geteuid() != 0) GTEST_SKIP() << "only root has readers whom the kernel refuses nothing";
  EXPECT_FALSE(read_as(own_account(), seen(idle.pid())).read) << "it is nobody's by now";
}

TEST(ProcessReaders, SystemUsersComeFirstThenWhoHasMost) {
  std::vector<ReaderTask> tasks{{{2000, 1, {}, "", ""}, {{1}}},
                                {{1000, 1, {}, "", ""}, {{2}, {3}}},
                                {{1000, 2, {}, "", ""}, {{4}}},
                                {{7, 1, {}, "", ""}, {{5}}}};
  tasks.push_back({{100'001, 1, {}, "", ""}, {{6}, {7}, {8}}, 2000});  // counts as him
  blas::put_known_users_first(tasks);
  std::vector<uid_t> order;
  for (const ReaderTask& task : tasks) order.push_back(task.account.uid);
  EXPECT_EQ(order, (std::vector<uid_t>{7, 2000, 100'001, 1000, 1000}));
}

// A process whose root is a folder in which a look-up waits against SIGKILL (errands.h).
pid_t start_in_root(const std::string& root) {
  std::array<int, 2> ready{};
  if (::pipe2(ready.data(), O_CLOEXEC) != 0) return -1;
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::chroot(root.c_str()) != 0 || ::chdir("/") != 0) ::_exit(1);
    become_nobody();
    ::close(ready[0]);
    ::close(ready[1]);
    ::alarm(40);
    while (true) ::pause();
  }
  ::close(ready[1]);
  char byte = 0;
  static_cast<void>(::read(ready[0], &byte, 1) > 0);  // the pipe's end: it has that root and user
  ::close(ready[0]);
  return pid;
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
      EXPECT_EQ(left[0].user, user_of_tests().uid);
      // As many as may be left over all looks, of one user and of all.
      const std::vector<ReaderTask> of_two{{user_of_tests(), {seen(idle.pid())}},
                                           {own_account(), {seen(::getpid())}}};
      for (const std::size_t count : {32, 1024}) {
        std::vector<LeftReader> many(count, left[0]);
        const auto some = blas::read_processes(of_two, many);
        ASSERT_TRUE(some);
        EXPECT_NE(some->at(0)[0].reason.find("cannot be ended"), std::string::npos);
        EXPECT_EQ(some->at(1)[0].read, count == 32) << some->at(1)[0].reason;
      }
      EXPECT_EQ(left.size(), 1U);
    }
  }
  for (const LeftReader& one : left) EXPECT_EQ(::waitpid(one.reader, nullptr, 0), one.reader);
  ::kill(held, SIGKILL);
  ::waitpid(held, nullptr, 0);
  if (left.empty()) GTEST_SKIP() << "no folder can be held here";
}

// More than may end one reader after the other.
TEST(ProcessReaders, ManyThatAreHeldCostTheirOwnRowsAlone) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can have another root folder";
  const Folder folder;
  const IdleProcess idle;
  std::vector<pid_t> held;
  std::vector<observe::SeenProcess> processes;
  for (int i = 0; i < 20; ++i) {
    held.push_back(start_in_root(folder.path()));
    processes.push_back(seen(held.back()));
    processes.push_back(seen(idle.pid()));
  }
  std::vector<LeftReader> left;
  bool can_be_held = false;
  {
    const FuseOfUser fuse(Held::kFolder, 0, folder.path());
    can_be_held = fuse.missing().empty();
    if (can_be_held) {
      std::this_thread::sleep_for(200ms);  // until somebody waits for the lock
      const auto read = blas::read_processes({{user_of_tests(), processes}}, left,
                                             {.patience = 250ms, .all = 30s});
      ASSERT_TRUE(read);
      for (std::size_t i = 0; i < processes.size(); ++i)
        EXPECT_EQ(read->at(0)[i].read, i % 2 == 1) << i << ": " << read->at(0)[i].reason;
    }
  }
  for (const LeftReader& one : left) EXPECT_EQ(::waitpid(one.reader, nullptr, 0), one.reader);
  for (const pid_t pid : held) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  if (!can_be_held) GTEST_SKIP() << "no folder can be held here";
}

// It becomes another program at SIGUSR1.
class Sleeper {
 public:
  explicit Sleeper(uid_t user) : pid_(::fork()) {
    if (pid_ == 0) {
      ::signal(SIGUSR1, [](int) { ::execl("/bin/sleep", "sleep", "40", nullptr); });
      if (user != ::geteuid()) become_nobody();
      ::alarm(40);
      while (true) ::pause();
    }
    for (int i = 0; i < 1000 && seen(pid_).user != user; ++i) ::usleep(1000);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

// One that became a user's program while it was opened may have the users that were seen again
// afterwards: su and sudo at their prompts.
TEST(ProcessFiles, AreOfOneProgram) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: processes of two users";
  for (const Account& account : {own_account(), user_of_tests()}) {
    // In a process of its own, as readers do, which acts as that user.
    const auto begin_opening = [&](pid_t pid) {
      const pid_t opens = ::fork();
      if (opens == 0)
        ::_exit(observe::open_process_files({{seen(pid)}}, account, [](auto) {})[0].error);
      return opens;
    };
    const auto error_of = [](pid_t opens) {
      int status = 0;
      ::waitpid(opens, &status, 0);
      return WEXITSTATUS(status);
    };
    const Sleeper stays(account.uid), changes(account.uid);
    EXPECT_EQ(error_of(begin_opening(stays.pid())), 0);
    // From here on the names that are looked at first are known.
    ASSERT_EQ(seen(changes.pid()).user, account.uid);
    auto fuse =
        std::make_unique<FuseOfUser>(Held::kFolder, 0, "/proc/" + std::to_string(changes.pid()));
    if (!fuse->missing().empty()) GTEST_SKIP() << fuse->missing();
    std::this_thread::sleep_for(200ms);  // until somebody waits for the lock
    const pid_t opens = begin_opening(changes.pid());
    std::this_thread::sleep_for(300ms);  // it waits
    ::kill(changes.pid(), SIGUSR1);
    std::this_thread::sleep_for(300ms);  // it runs the other program
    fuse.reset();
    EXPECT_EQ(error_of(opens), ESRCH) << account.uid;
  }
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
