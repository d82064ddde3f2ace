// `hwprof node --watch`: looks that take long, end badly or fail.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "src/commands/node/watch.h"

namespace hwprof {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST(WatchPages, ALookThatDoesNotEndHoldsNobodyUp) {
  const pid_t watched = ::getpid(), ends = ::fork();
  if (ends == 0) {
    ::usleep(300'000);
    ::kill(watched, SIGTERM);
    ::_exit(0);
  }
  const auto began = Clock::now();
  const auto code = watch_pages(
      0.001,
      []() -> Result<Page> {
        ::sleep(30);
        return Page{};
      },
      [](std::string_view) {});
  EXPECT_LT(Clock::now() - began, 20s);
  ASSERT_TRUE(code) << code.error().what;
  EXPECT_EQ(*code, 128 + SIGTERM);
  ::waitpid(ends, nullptr, 0);
}

TEST(WatchPages, ALookKnowsOfTheLastWhatIsTakenAndNoMore) {
  int looks = 0;
  std::vector<std::string> taken;
  const auto code = watch_pages(
      0.001,
      [&]() -> Result<Page> {
        return Page{"page", std::to_string(taken.size()) + "/" + std::to_string(looks++)};
      },
      [&](std::string_view known) {
        taken.emplace_back(known);
        if (taken.size() == 2) ::raise(SIGTERM);
      });
  EXPECT_EQ(taken, (std::vector<std::string>{"0/0", "1/0"}));
  ASSERT_TRUE(code) << code.error().what;
  EXPECT_EQ(*code, 128 + SIGTERM);
}
TEST(WatchPages, TheErrorOfTheFirstLookIsReturned) {
  const auto code = watch_pages(
      0.001, []() -> Result<Page> { return environment_error(5, "what", "hint"); },
      [](std::string_view) {});
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().what, "what");
  EXPECT_EQ(code.error().hint, "hint");
  EXPECT_EQ(code.error().code, 5);
}
TEST(WatchPages, ALaterLookThatFailsIsSaidAndTheNextFollows) {
  std::string folder = std::filesystem::temp_directory_path() / "watch-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string failed = folder + "/failed";
  int pages = 0;  // of the parent: each look is a process of its own
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  const auto code = watch_pages(
      0.001,
      [&]() -> Result<Page> {
        if (pages == 1 && !std::filesystem::exists(failed)) {
          std::ofstream(failed) << "once";
          return environment_error(5, "the kernel said no", "ask again");
        }
        return Page{"page", "known"};
      },
      [&](std::string_view) {
        if (++pages == 2) ::raise(SIGTERM);
      });
  std::filesystem::remove_all(folder);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "page\npage\n");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("the kernel said no; ask again"), std::string::npos) << said;
  ASSERT_TRUE(code) << code.error().what;
  EXPECT_EQ(*code, 128 + SIGTERM);
}

}  // namespace
}  // namespace hwprof
