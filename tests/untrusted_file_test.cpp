#include "src/base/untrusted_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace hwprof {
namespace {

using ::testing::HasSubstr;

class Untrusted : public ::testing::Test {
 protected:
  Untrusted() {
    std::string folder = ::testing::TempDir() + "hwprof_XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) ADD_FAILURE() << "no folder";
    folder_ = folder;
  }
  ~Untrusted() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] std::string file(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name)) << bytes;
    return path(name);
  }
  static std::string why(const std::string& path, const FileRules& rules = {}) {
    const auto bytes = read_untrusted(path, rules);
    return bytes ? "was read" : bytes.error().what;
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(Untrusted, FileIsReadWhole) {
  const std::string bytes(100'000, 'x');
  EXPECT_EQ(read_untrusted(file("a", bytes), {.owner = ::geteuid()}).value_or(""), bytes);
  EXPECT_EQ(read_untrusted(file("b", ""), {}).value_or("?"), "");
}

TEST_F(Untrusted, PipeIsNotWaitedFor) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0666), 0);
  EXPECT_THAT(why(path("pipe")), HasSubstr("no regular file"));
  EXPECT_THAT(why(path("")), HasSubstr("no regular file"));
}

TEST_F(Untrusted, LinkIsFollowedOnlyWhereItMayBe) {
  std::filesystem::create_symlink(file("a", "text"), path("link"));
  EXPECT_THAT(why(path("link")), HasSubstr("symbolic link"));
  EXPECT_EQ(read_untrusted(path("link"), {.follow_link = true}).value_or(""), "text");
  std::filesystem::create_symlink("/dev/zero", path("endless"));
  EXPECT_THAT(why(path("endless")), HasSubstr("symbolic link"));
  EXPECT_THAT(why(path("endless"), {.follow_link = true}), HasSubstr("no regular file"));
}

TEST_F(Untrusted, FileOfAnotherUserIsNotBelieved) {
  const std::string own = file("a", "text");
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(own.c_str(), 12345, 12345), 0);
  }
  const uid_t other = ::geteuid() + 1;
  EXPECT_THAT(why(own, {.owner = other}), HasSubstr("belongs to user"));
}

TEST_F(Untrusted, TooLargeAFileIsRefusedUnread) {
  const std::string large = file("a", "");
  ASSERT_EQ(::truncate(large.c_str(), off_t{1} << 40), 0);
  const auto bytes = read_untrusted(large, {.most_bytes = 1000});
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, EFBIG);
  EXPECT_THAT(bytes.error().what, HasSubstr("no more than 1000 are read"));
}

TEST_F(Untrusted, MissingFileHasItsErrno) {
  const auto bytes = read_untrusted(path("none"), {});
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, ENOENT);
}

}  // namespace
}  // namespace hwprof
