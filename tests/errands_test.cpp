// hwprof as root, where another user holds a folder that it has to look into.
#include "src/observe/monitor/errands.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "src/base/files.h"
#include "src/base/own_proc.h"
#include "src/base/spawn.h"
#include "src/observe/monitor/looks.h"
#include "tests/fuse_of_user.h"
#include "tests/monitor_setup.h"

namespace hwprof::observe {
namespace {

using namespace std::chrono_literals;
using Held = FuseOfUser::Held;

// Until somebody waits for the lock of the folder, with whom all others then wait.
constexpr std::chrono::milliseconds kQueued{200};

class HeldFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "an ordinary user writes by himself";
    std::string name = std::filesystem::temp_directory_path() / "held-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    ::chmod(name.c_str(), 0755);
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  std::string folder_;
};

TEST_F(HeldFolder, IsWrittenToInTimeOrNot) {
  const std::string path = folder_ + "/report.json";
  Errands errands;
  const auto write = [&] { return write_file(path, "bytes"); };
  ASSERT_TRUE(at_file(errands, path, 5s, write));
  EXPECT_EQ(read_text_file(path), "bytes");
  EXPECT_TRUE(errands.left().empty());
  {
    const FuseOfUser fuse(Held::kFolder, 0, folder_);
    if (!fuse.missing().empty()) GTEST_SKIP() << fuse.missing();
    ASSERT_TRUE(fuse.holds_somebody());
    std::this_thread::sleep_for(kQueued);
    const auto began = std::chrono::steady_clock::now();
    const auto done = at_file(errands, path, 300ms, write);
    EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ETIMEDOUT);
    EXPECT_NE(done.error().what.find(path), std::string::npos) << done.error().what;
    EXPECT_EQ(errands.left().size(), 1U);
  }
  for (const pid_t left : errands.left()) EXPECT_EQ(::waitpid(left, nullptr, 0), left);
}

// What waits in the kernel is bounded, and none of it is what the report pays for.
TEST_F(HeldFolder, LeavesAPlaceForTheReport) {
  const std::string held = folder_ + "/held", free = folder_ + "/free/report.json";
  std::filesystem::create_directory(held);
  std::filesystem::create_directory(folder_ + "/free");
  Errands errands;
  {
    const FuseOfUser fuse(Held::kFolder, 0, held);
    if (!fuse.missing().empty()) GTEST_SKIP() << fuse.missing();
    ASSERT_TRUE(fuse.holds_somebody());
    std::this_thread::sleep_for(kQueued);
    const auto write = [&](const std::string& path) {
      return at_file(errands, path, 300ms, [&] { return write_file(path, "bytes"); });
    };
    for (const char* name : {"/a.svg", "/b.svg", "/c.svg", "/d.svg"}) {
      const auto done = write(held + name);
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().code, ETIMEDOUT) << done.error().what;
    }
    const auto more = at_file(errands, free, 5s, [&] { return write_file(free, "bytes"); });
    ASSERT_FALSE(more);
    for (const std::string& named : {free, held + "/a.svg", held + "/d.svg"})
      EXPECT_NE(more.error().what.find(named), std::string::npos) << more.error().what;
    EXPECT_FALSE(std::filesystem::exists(free));
    errands.begin_last();
    EXPECT_TRUE(at_file(errands, free, 5s, [&] { return write_file(free, "bytes"); }));
    EXPECT_EQ(read_text_file(free), "bytes");
  }
  for (const pid_t left : errands.left()) EXPECT_EQ(::waitpid(left, nullptr, 0), left);
}

// Who opens a device goes through /proc/self/fd, and of this process that folder may be held.
TEST_F(HeldFolder, DevicesAreWrittenToByAnErrand) {
  Errands errands;
  pid_t writer = 0;
  const auto say = [&]() -> Result<void> {
    writer = ::getpid();
    return environment_error(0, std::to_string(writer));
  };
  for (const char* path : {"/dev/null", "/dev/full", "/dev/tty"}) {
    const auto done = at_file(errands, path, 5s, say);
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().what, std::to_string(::getpid())) << path;
  }
  EXPECT_TRUE(at_file(errands, "/dev/null", 5s, [] { return write_file("/dev/null", "bytes"); }));
  EXPECT_EQ(writer, 0) << "an errand changes nothing here";
}

TEST_F(HeldFolder, ErrorsOfAFileComeBackWhole) {
  const std::string path = folder_ + "/missing/report.json";
  Errands errands;
  const auto apart = at_file(errands, path, 5s, [&] { return check_writable(path); });
  const auto here = check_writable(path);
  ASSERT_FALSE(apart);
  EXPECT_EQ(apart.error().what, here.error().what);
  EXPECT_EQ(apart.error().hint, here.error().hint);
  EXPECT_EQ(apart.error().code, here.error().code);
}

// A daemon's first parent ends between two looks, and leaves it to hwprof.
TEST(Errands, SayWhereThereIsMoreThanIsTaken) {
  Errands errands;
  const auto said = [&](std::size_t bytes) {
    return errands.run(
        5s, "/proc", [&]() -> Result<std::string> { return std::string(bytes, 'x'); }, 4096);
  };
  EXPECT_EQ(said(2000).value_or("").size(), 2000U);
  ASSERT_FALSE(said(4096));
  EXPECT_EQ(said(4096).error().code, EFBIG);
}

TEST(LeftBehind, IsAskedForAgainWhereAParentHasEndedMeanwhile) {
  const pid_t ended = ::fork();
  if (ended == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(ended, nullptr, 0), ended);
  const pid_t daemon = start_idle_process();
  int asked = 0;
  Errands errands;
  const auto left = left_behind(
      errands, [&] { return std::vector<pid_t>{asked++ == 0 ? ended : daemon}; }, 5s);
  ::kill(daemon, SIGKILL);
  ::waitpid(daemon, nullptr, 0);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left.front().pid, daemon);
  EXPECT_EQ(asked, 3);
}

// Its end is told and its exit code passes, whoever holds its folder in /proc.
TEST_F(HeldFolder, OfACommandHoldsNobodyUp) {
  const std::string number = folder_ + "/pid", go = folder_ + "/go", why = folder_ + "/missing",
                    done = folder_ + "/done";
  ::chmod(folder_.c_str(), 0777);
  const pid_t attacker = ::fork();
  if (attacker == 0) {
    std::string pid;
    while ((pid = std::string(trim(read_text_file(number).value_or("")))).empty())
      std::this_thread::sleep_for(1ms);
    {
      const FuseOfUser fuse(Held::kFolder, 0, "/proc/" + pid);
      std::ofstream(why) << fuse.missing();
      std::this_thread::sleep_for(kQueued);
      std::ofstream(go) << "go";
      for (int i = 0; i < 2000 && !std::filesystem::exists(done); ++i)
        std::this_thread::sleep_for(10ms);
    }
    ::_exit(0);
  }
  const std::string script = fmt::format(
      "echo $$ > {0}.new; mv {0}.new {0}; while [ ! -e {1} ]; do sleep 0.01; done; exit 5", number,
      go);
  const auto began = std::chrono::steady_clock::now();
  std::string report;
  const auto code = run_split(
      {.command = {"/bin/sh", "-c", script},
       .patience = {.look = 1s},
       .write_report = [&](const std::string& bytes) { report = bytes; }},
      [](MonitorClient& monitor) -> Result<int> {
        TRY(const CommandEnd end, run_command(monitor));
        TRY(monitor.save_report(fmt::format("exit {}", end.facts.exit)));
        return 0;
      },
      [](MonitorClient&, const WorkerDeath&) { return -1; });
  const auto took = std::chrono::steady_clock::now() - began;
  std::ofstream(done) << "done";
  ::waitpid(attacker, nullptr, 0);
  const std::string missing = read_text_file(why).value_or("");
  if (!missing.empty()) GTEST_SKIP() << missing;
  EXPECT_LT(took, 10s);
  ASSERT_TRUE(code) << code.error().what;
  EXPECT_EQ(*code, 5);
  EXPECT_EQ(report, "exit 5");
}

bool may_mount_a_proc() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const bool may = ::unshare(CLONE_NEWNS) == 0 &&
                     ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0 &&
                     ::mount("proc", "/proc", "proc", 0, nullptr) == 0;
    ::_exit(may ? 0 : 1);
  }
  int status = 1;
  ::waitpid(pid, &status, 0);
  return status == 0;
}

// What root's hwprof looks up of itself and of others, while anybody holds that folder.
TEST(OwnProc, NobodyElseHoldsItsFolders) {
  if (::geteuid() != 0) GTEST_SKIP() << "an ordinary user is not worth it";
  if (!may_mount_a_proc()) GTEST_SKIP() << "no mounts here";
  const auto mounts = read_text_file("/proc/self/mountinfo");
  const auto ends_in_time = [](ProcFor whom, const std::vector<std::string>& names,
                               const std::string& held, bool from_the_first = false) {
    std::array<int, 2> ready{}, go{};
    EXPECT_EQ(::pipe(ready.data()) | ::pipe(go.data()), 0);
    const pid_t pid = ::fork();
    char byte = 1;
    if (pid == 0) {
      struct stat before {
      }, after{};
      ::stat("/proc", &before);
      if (from_the_first) static_cast<void>(::write(ready[1], &byte, 1) + ::read(go[0], &byte, 1));
      guard_proc(whom);
      ::stat("/proc", &after);
      const bool is_own = before.st_dev != after.st_dev;
      if (is_own != (whom == ProcFor::kHwprofAlone)) ::_exit(2);
      if (!from_the_first) static_cast<void>(::write(ready[1], &byte, 1) + ::read(go[0], &byte, 1));
      for (const std::string& name : names)
        if (!read_text_file("/proc/" + name)) ::_exit(1);
      ::_exit(0);
    }
    static_cast<void>(::read(ready[0], &byte, 1));
    std::string why;
    {
      const FuseOfUser fuse(Held::kFolder, 0, held.empty() ? "/proc/" + std::to_string(pid) : held);
      why = fuse.missing();
      std::this_thread::sleep_for(kQueued);
      static_cast<void>(::write(go[1], &byte, 1));
      int status = 1;
      const auto deadline = std::chrono::steady_clock::now() + 10s;
      EXPECT_TRUE(reap_until(pid, deadline, status)) << held << ": it waits";
      EXPECT_EQ(status, 0);
    }
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    for (const int end : {ready[0], ready[1], go[0], go[1]}) ::close(end);
    return why;
  };
  const IdleProcess idle;
  const std::string other = std::to_string(idle.pid());
  std::string why = ends_in_time(ProcFor::kCommands, {"self/maps", "self/uid_map"}, "");
  if (why.empty())
    why = ends_in_time(ProcFor::kHwprofAlone, {"self/limits", "self/task/../io", "1/limits"}, "");
  if (why.empty()) why = ends_in_time(ProcFor::kHwprofAlone, {"self/limits"}, "", true);
  if (why.empty()) why = ends_in_time(ProcFor::kHwprofAlone, {other + "/io"}, "/proc/" + other);
  const pid_t apart = ::fork();  // where the machine's /proc is not the one that is held
  if (apart == 0) {
    guard_proc(ProcFor::kHwprofAlone);
    static_cast<void>(ends_in_time(ProcFor::kHwprofAlone, {"zoneinfo"}, "/proc"));
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 1;
  EXPECT_EQ(::waitpid(apart, &status, 0), apart);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_text_file("/proc/self/mountinfo"), mounts) << "a mount that others see";
  if (!why.empty()) GTEST_SKIP() << why;
}

// With it a worker would see whom the machine's /proc hides from its user.
TEST(OwnProc, HidesWhomTheMachinesHides) {
  if (::geteuid() != 0 || !may_mount_a_proc()) GTEST_SKIP() << "no mounts here";
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0 ||
        ::mount("proc", "/proc", "proc", 0, "hidepid=2,gid=4") != 0)
      ::_exit(2);
    const auto mounts = [] { return read_text_file("/proc/self/mountinfo").value_or(""); };
    struct stat before {
    }, after{};
    ::stat("/proc", &before);
    guard_proc(ProcFor::kHwprofAlone);
    ::stat("/proc", &after);
    const std::string all = mounts(), own = all.substr(all.rfind(" /proc "));
    const bool hides = own.find("hidepid=") != own.npos && own.find("gid=4") != own.npos;
    ::_exit(before.st_dev != after.st_dev && hides ? 0 : 1);
  }
  int status = 1;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace hwprof::observe
