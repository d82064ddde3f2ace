#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "src/base/files.h"
#include "src/base/unique_fd.h"
#include "src/report/render/write_report.h"

namespace hwprof::report {
namespace {

namespace fs = std::filesystem;

constexpr int kLarge = 16 << 20;  // bytes

class Output : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "hwprof-output-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string at(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void expect_environment_error(const Result<void>& result, int code) {
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().fault, Fault::kEnvironment);
  EXPECT_EQ(result.error().code, code) << result.error().what;
}

TEST_F(Output, NewFileHoldsTheBytesAndNothingElseIsLeft) {
  ASSERT_TRUE(write_file(at("report"), std::string("a\0b", 3)));
  EXPECT_EQ(content(at("report")), std::string("a\0b", 3));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Output, NewFileHasTheModeThatTheUmaskAllows) {
  const mode_t before = ::umask(027);
  const auto result = write_file(at("report"), "x");
  ::umask(before);
  ASSERT_TRUE(result);
  struct stat info = {};
  ASSERT_EQ(::stat(at("report").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST_F(Output, ExistingFileIsReplacedAndKeepsItsMode) {
  put(at("report"), "a much longer old report");
  ASSERT_EQ(::chmod(at("report").c_str(), 0604), 0);
  struct stat before = {}, after = {};
  ::stat(at("report").c_str(), &before);
  ASSERT_TRUE(write_file(at("report"), "new"));
  ::stat(at("report").c_str(), &after);
  EXPECT_EQ(content(at("report")), "new");
  EXPECT_EQ(after.st_mode & 0777, 0604u);
  EXPECT_NE(after.st_ino, before.st_ino);  // a rename, not a write into the old file
}

// Whoever can read the folder could open it by then, and read on what is written later.
TEST_F(Output, NobodyElseMayOpenAFileThatIsBeingWritten) {
  const mode_t before = ::umask(0);
  mode_t seen = 0;
  // What is written is large enough that somebody sees the file meanwhile.
  std::atomic<bool> written = false;
  std::thread watcher([&] {
    while (!written) {
      std::error_code error;
      for (fs::directory_iterator one(folder_, error), end; !error && one != end;
           one.increment(error)) {
        struct stat info = {};
        if (one->path().filename().string().starts_with(".hwprof-") &&
            ::stat(one->path().c_str(), &info) == 0 && info.st_size < kLarge) {
          seen |= info.st_mode & 0777;
        }
      }
    }
  });
  const auto result = write_file(at("report"), std::string(kLarge, 'x'));
  written = true;
  watcher.join();
  ::umask(before);
  ASSERT_TRUE(result);
  EXPECT_EQ(seen & ~0600U, 0U);
  struct stat info = {};
  ASSERT_EQ(::stat(at("report").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0666U);
}

TEST_F(Output, SocketIsRefused) {
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  at("socket").copy(name.sun_path, sizeof name.sun_path - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  expect_environment_error(check_writable(at("socket")), ENXIO);
  expect_environment_error(write_file(at("socket"), "x"), ENXIO);
}

// It would stay that user's, with the report in it, and be changed by him at any time.
TEST_F(Output, FileOfAnotherUserInAFolderForAllIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root could write it";
  ASSERT_EQ(::chmod(folder_.c_str(), 01777), 0);
  for (const auto& [name, owner] : {std::pair("planted", 65534), std::pair("own", 0)}) {
    put(at(name), "before");
    ASSERT_EQ(::chown(at(name).c_str(), static_cast<uid_t>(owner), 0), 0);
  }
  for (const auto& refused : {check_writable(at("planted")), write_file(at("planted"), "report")}) {
    expect_environment_error(refused, EACCES);
    EXPECT_NE(refused.error().hint.find("another user's file"), std::string::npos)
        << refused.error().hint;
  }
  EXPECT_EQ(content(at("planted")), "before");
  EXPECT_TRUE(write_file(at("own"), "report"));
  EXPECT_EQ(content(at("own")), "report");
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);  // where no user keeps his own
  EXPECT_TRUE(write_file(at("planted"), "report"));
}

// What shares a pipe with hwprof may have made it one that does not wait.
TEST_F(Output, FullPipeIsWaitedForWhateverItsFlags) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  ASSERT_EQ(::fcntl(write_end.get(), F_SETFL, O_NONBLOCK), 0);
  std::size_t got = 0;
  std::thread reader([&] {
    char buffer[4096];
    for (ssize_t some = 1; some > 0; got += static_cast<std::size_t>(std::max<ssize_t>(some, 0)))
      some = ::read(read_end.get(), buffer, sizeof buffer);
  });
  const int code = write_all(write_end.get(), std::string(kLarge, 'x'));
  write_end.reset();
  reader.join();
  EXPECT_EQ(code, 0);
  EXPECT_EQ(got, std::size_t{kLarge});
}

TEST_F(Output, FailedWriteLeavesTheOldFileWhole) {
  put(at("report"), "old");
  struct rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit small = before;
  small.rlim_cur = 4096;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto result = write_file(at("report"), std::string(100000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  expect_environment_error(result, EFBIG);
  EXPECT_EQ(content(at("report")), "old");
  EXPECT_EQ(entries(), 1u);
}

// Root works on a device of its own: a defect that replaces /dev/full would break the machine.
TEST_F(Output, FullDeviceIsAnErrorAndStaysOne) {
  std::string device = "/dev/full";
  if (::geteuid() == 0) {
    device = at("full");
    if (::mknod(device.c_str(), S_IFCHR | 0600, makedev(1, 7)) != 0) {
      GTEST_SKIP() << "root may not create a device here";
    }
    if (!UniqueFd(::open(device.c_str(), O_WRONLY | O_CLOEXEC)).valid()) {
      GTEST_SKIP() << "the folder for temporary files is mounted nodev";
    }
  }
  expect_environment_error(write_file(device, "report"), ENOSPC);
  EXPECT_TRUE(fs::is_character_file(device));
}

TEST_F(Output, FifoIsWrittenDirectlyAndStaysOne) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = content(at("pipe")); });
  const auto result = write_file(at("pipe"), "report");
  reader.join();
  ASSERT_TRUE(result);
  EXPECT_EQ(got, "report");
  EXPECT_TRUE(fs::is_fifo(at("pipe")));
  EXPECT_EQ(entries(), 1u);
}

// To open it would wait for the next reader, with all signals blocked.
TEST_F(Output, FifoBehindALinkOfProcfsThatNobodyReadsIsAnError) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  UniqueFd reader(::open(at("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const UniqueFd output(::open(at("pipe").c_str(), O_WRONLY | O_CLOEXEC));
  const std::string path = "/dev/fd/" + std::to_string(output.get());
  ASSERT_TRUE(write_file(path, "report"));
  char got[16];
  EXPECT_EQ(::read(reader.get(), got, sizeof got), 6);
  reader.reset();
  expect_environment_error(write_file(path, "report"), EPIPE);
}

// More than the pipe holds, and its reader takes its time.
TEST_F(Output, FifoBehindALinkOfProcfsIsWaitedFor) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  UniqueFd reader(::open(at("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const UniqueFd output(::open(at("pipe").c_str(), O_WRONLY | O_CLOEXEC));
  const std::string report(1'000'000, 'x');
  std::size_t taken = 0;
  std::thread reads([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::vector<char> part(10'000);
    pollfd more{reader.get(), POLLIN, 0};
    while (taken < report.size() && ::poll(&more, 1, 10'000) > 0) {
      const ssize_t got = ::read(reader.get(), part.data(), part.size());
      if (got > 0) taken += static_cast<std::size_t>(got);
    }
  });
  const auto written = write_file("/dev/fd/" + std::to_string(output.get()), report);
  reads.join();
  EXPECT_TRUE(written);
  EXPECT_EQ(taken, report.size());
}

TEST_F(Output, LinkStaysAndItsTargetIsReplaced) {
  fs::create_directory(at("elsewhere"));
  put(at("elsewhere/target"), "old");
  fs::create_symlink("elsewhere/target", at("second"));
  fs::create_symlink("second", at("first"));
  ASSERT_TRUE(write_file(at("first"), "new"));
  EXPECT_TRUE(fs::is_symlink(at("first")));
  EXPECT_TRUE(fs::is_symlink(at("second")));
  EXPECT_EQ(content(at("elsewhere/target")), "new");
}

TEST_F(Output, DanglingLinkLeadsToTheNewFile) {
  fs::create_symlink("target", at("link"));
  ASSERT_TRUE(check_writable(at("link")));
  ASSERT_TRUE(write_file(at("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(content(at("target")), "new");
}

TEST_F(Output, CircleOfLinksIsAnError) {
  fs::create_symlink("b", at("a"));
  fs::create_symlink("a", at("b"));
  expect_environment_error(check_writable(at("a")), ELOOP);
}

// What `-o /dev/stdout >> log` and `-o >(command)` of the shell come to.
TEST_F(Output, LinkOfProcfsIsTheOpenFileBehindIt) {
  put(at("log"), "before\n");
  const UniqueFd fd(::open(at("log").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  ASSERT_TRUE(write_file("/dev/fd/" + std::to_string(fd.get()), "report\n"));
  EXPECT_EQ(content(at("log")), "before\nreport\n");

  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]), write_end(ends[1]);
  ASSERT_TRUE(check_writable("/dev/fd/" + std::to_string(write_end.get())));
  ASSERT_TRUE(write_file("/dev/fd/" + std::to_string(write_end.get()), "report"));
  char buffer[16] = {};
  EXPECT_EQ(::read(read_end.get(), buffer, sizeof buffer), 6);
}

TEST_F(Output, FolderAndMissingFolderAreRefusedEarly) {
  expect_environment_error(check_writable(folder_), EISDIR);
  expect_environment_error(write_file(folder_, "x"), EISDIR);
  expect_environment_error(check_writable(at("missing/report")), ENOENT);
  expect_environment_error(check_writable(""), ENOENT);
  expect_environment_error(check_writable(at(std::string(300, 'n'))), ENAMETOOLONG);
}

TEST_F(Output, CheckCreatesNothing) {
  EXPECT_TRUE(check_writable(at("report")));
  EXPECT_EQ(entries(), 0u);
}

TEST_F(Output, FileThatMayNotBeWrittenIsKept) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everything";
  put(at("report"), "old");
  ASSERT_EQ(::chmod(at("report").c_str(), 0444), 0);
  expect_environment_error(check_writable(at("report")), EACCES);
  expect_environment_error(write_file(at("report"), "new"), EACCES);
  EXPECT_EQ(content(at("report")), "old");
}

// Standard output of this test, replaced while it lives.
class StdoutTo {
 public:
  explicit StdoutTo(int fd) : before_(::dup(STDOUT_FILENO)) { ::dup2(fd, STDOUT_FILENO); }
  ~StdoutTo() { ::dup2(before_.get(), STDOUT_FILENO); }

 private:
  UniqueFd before_;
};

Result<void> write_stdout_to(int fd) {
  const StdoutTo guard(fd);
  return write_stdout("report");
}

TEST_F(Output, StandardOutputThatIsFullIsAnError) {
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  expect_environment_error(write_stdout_to(full.get()), ENOSPC);
}

TEST_F(Output, ClosedPipeIsAnErrorAndNotADeath) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd write_end(ends[1]);
  ::close(ends[0]);
  const auto before = std::signal(SIGPIPE, SIG_DFL);
  const auto result = write_stdout_to(write_end.get());
  std::signal(SIGPIPE, before);
  expect_environment_error(result, EPIPE);
}

struct Fact {};

TEST_F(Output, WhatCannotBeWrittenIsPrinted) {
  const Writers<Fact> writers{[](const Fact&) { return Document{}; },
                              [](const Fact&) { return std::string("the fact"); }};
  for (const Format format : {Format::kJson, Format::kHtml}) {
    hwprof::Output output;
    output.format = format;
    output.file = at("no folder/report");
    const UniqueFd out(::open(at("out").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    const auto done = [&] {
      const StdoutTo guard(out.get());
      return write_report(Fact{}, writers, output);
    }();
    expect_environment_error(done, ENOENT);
    EXPECT_NE(done.error().hint.find("; what was to be written is on standard output instead"),
              std::string::npos)
        << done.error().hint;
    EXPECT_EQ(content(at("out")), "the fact") << "of a page its JSON";
  }
}

TEST_F(Output, StandardOutputGetsTheBytes) {
  const UniqueFd file(::open(at("out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_TRUE(write_stdout_to(file.get()));
  EXPECT_EQ(content(at("out")), "report");
}

}  // namespace
}  // namespace hwprof::report
