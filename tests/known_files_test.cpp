// What is known of a mapped file is known of the state in which it was looked at.
#include "src/observe/calls/known_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "tests/temporary_file.h"

namespace hwprof::observe {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::uint64_t now_ns() { return Clocks::now().monotonic_ns; }

// Until a change would be seen by its time.
void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

Mapped mapping_of(const std::string& path, std::uint64_t generation = 0) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  Mapped mapped;
  mapped.pid = ::getpid();
  mapped.file = file_id(file.get());
  mapped.path = path;
  mapped.generation = generation;
  return mapped;
}

bool look_at(KnownFiles& files, const Mapped& mapped) {
  const UniqueFd file = open_mapped(mapped);
  auto known = files.begin(mapped, file);
  if (!known) return false;
  files.add(mapped, *std::move(known));
  return true;
}

TEST(KnownFile, IsKnownForWhatWasMappedUntilItWasLookedAt) {
  const TemporaryFile file("library");
  settle();
  const Mapped mapped = mapping_of(file.path());
  KnownFiles files;
  const std::uint64_t before = now_ns();
  EXPECT_EQ(files.find(mapped, before), nullptr);
  EXPECT_TRUE(files.is_to_be_read(mapped, before));
  ASSERT_TRUE(look_at(files, mapped));
  EXPECT_NE(files.find(mapped, before), nullptr);
  const std::uint64_t after = now_ns();
  EXPECT_EQ(files.find(mapped, after), nullptr);
  EXPECT_FALSE(files.is_to_be_read(mapped, after)) << "it has not changed";
  EXPECT_NE(files.find(mapped, after), nullptr);
}

TEST(KnownFile, IsLookedAtAnewWhereItWasWrittenTo) {
  const TemporaryFile file("library");
  settle();
  const Mapped mapped = mapping_of(file.path());
  KnownFiles files;
  const std::uint64_t before = now_ns();
  ASSERT_TRUE(look_at(files, mapped));
  settle();
  const std::uint64_t between = now_ns();
  settle();
  std::ofstream(file.path(), std::ios::in) << "LIBRARY";  // as long as before
  settle();
  const std::uint64_t after = now_ns();
  EXPECT_TRUE(files.is_to_be_read(mapped, after));
  EXPECT_EQ(files.find(mapped, after), nullptr);
  ASSERT_TRUE(look_at(files, mapped));
  EXPECT_NE(files.find(mapped, after), nullptr);
  EXPECT_EQ(files.find(mapped, between), nullptr) << "that was another file";
  EXPECT_EQ(files.find(mapped, before), nullptr);
}

TEST(KnownFile, ThatWasWrittenToSinceItWasMappedIsNotKnown) {
  const TemporaryFile file("library");
  const Mapped mapped = mapping_of(file.path());
  const std::uint64_t at = now_ns();
  settle();
  std::ofstream(file.path(), std::ios::in) << "LIBRARY";
  KnownFiles files;
  ASSERT_TRUE(look_at(files, mapped));
  EXPECT_EQ(files.find(mapped, at), nullptr);
}

TEST(KnownFile, OfAnotherGenerationIsAnother) {
  const TemporaryFile file("library");
  settle();
  KnownFiles files;
  const std::uint64_t at = now_ns();
  ASSERT_TRUE(look_at(files, mapping_of(file.path(), 1)));
  EXPECT_NE(files.find(mapping_of(file.path(), 1), at), nullptr);
  EXPECT_EQ(files.find(mapping_of(file.path(), 2), at), nullptr);
  EXPECT_TRUE(files.is_to_be_read(mapping_of(file.path(), 2), at));
}

// Its time may be the same after another change.
TEST(KnownFile, IsLookedAtAnewWhereItHadJustChanged) {
  const TemporaryFile file("library");
  const Mapped mapped = mapping_of(file.path());
  KnownFiles files;
  ::chmod(file.path().c_str(), 0600);
  ASSERT_TRUE(look_at(files, mapped));
  settle();
  EXPECT_TRUE(files.is_to_be_read(mapped, now_ns()));
  ASSERT_TRUE(look_at(files, mapped));
  EXPECT_FALSE(files.is_to_be_read(mapped, now_ns()));
}

// Its path is another file's: in another mount namespace, or by now.
TEST(KnownFile, IsKnownByADescriptorWhereItsPathLeadsElsewhere) {
  const TemporaryFile file("library"), other("another one");
  settle();
  Mapped mapped = mapping_of(file.path());
  mapped.path = other.path();
  const UniqueFd opened(::open(file.path().c_str(), O_RDONLY | O_CLOEXEC));
  KnownFiles files;
  auto known = files.begin(mapped, opened);
  ASSERT_TRUE(known);
  files.add(mapped, *std::move(known));
  EXPECT_FALSE(files.is_to_be_read(mapped, now_ns()));
  std::ofstream(file.path(), std::ios::app) << "more";
  EXPECT_TRUE(files.is_to_be_read(mapped, now_ns()));
}

TEST(FileVersion, IsSaidByTheClockOfRecords) {
  const Clocks now{100 * kSecond, 30U * kSecond};
  FileVersion version;
  version.modified_ns = 80 * kSecond;
  version.changed_ns = 90 * kSecond;
  EXPECT_EQ(unchanged_since_ns(version, now), 20U * kSecond);
  version.linked = false;  // that was the change
  EXPECT_EQ(unchanged_since_ns(version, now), 10U * kSecond);
  version.modified_ns = 60 * kSecond;
  EXPECT_EQ(unchanged_since_ns(version, now), 0U) << "before the machine's start";
  version.modified_ns = 110 * kSecond;
  EXPECT_EQ(unchanged_since_ns(version, now), 0U) << "a clock that is ahead";
}

TEST(FileVersion, HasTheSameBytesUnderAnotherName) {
  const TemporaryFile file("library");
  const auto before = version_at(file.path());
  ASSERT_TRUE(before);
  settle();
  ::chmod(file.path().c_str(), 0755);
  const auto after = version_at(file.path());
  ASSERT_TRUE(after);
  EXPECT_NE(*before, *after);
  EXPECT_TRUE(after->has_bytes_of(*before));
  std::ofstream(file.path(), std::ios::app) << "more";
  EXPECT_FALSE(version_at(file.path())->has_bytes_of(*before));
  EXPECT_FALSE(version_at("/")) << "that is no file";
}

}  // namespace
}  // namespace hwprof::observe
