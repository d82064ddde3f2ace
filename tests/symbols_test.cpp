// On a program whose functions are known, a stripped and a static build of it.
#include "src/observe/elf/symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "src/observe/elf/debug_file.h"
#include "src/observe/elf/elf_file.h"
#include "src/observe/samples/generated_code.h"
#include "tests/temporary_file.h"

namespace hwprof::observe {
namespace {

using ::testing::HasSubstr;

Result<ElfCode> open_code(const std::string& path) {
  return ElfCode::open(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), path);
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Where the loop's bytes stand in the file: found without any symbol.
std::uint64_t offset_of_loop(const std::string& path) {
  // vfmadd231ps %zmm1, %zmm1, %zmm2; the first of loop_zmm_fma
#if defined(__x86_64__)
  const std::string code("\x90\x62\xf2\x75\x48\xb8\xd1\x62\xf2\x75\x48\xb8\xd9", 13);
#else
  const std::string code("\x1f\x20\x03\xd5\x22\xcc\x21\x4e\x23\x10\x81\x4f", 12);
#endif
  const auto at = bytes_of(path).find(code);
  EXPECT_NE(at, std::string::npos) << path;
  return at;
}

#if defined(__x86_64__)
constexpr const char* kLoop = "loop_zmm_fma";
#else
constexpr const char* kLoop = "loop_128_fma";
#endif

TEST(Symbols, NameTheFunctionAtAFileOffset) {
  for (const char* path : {HOT_LOOPS, HOT_LOOPS_STATIC}) {
    auto code = open_code(path);
    ASSERT_TRUE(code) << path;
    const auto offset = offset_of_loop(path);
    EXPECT_THAT(code->symbol(offset + 2), HasSubstr(kLoop)) << path;
    const CodeBytes around = code->code(offset, 4096);
    ASSERT_LE(around.address, offset);
    EXPECT_EQ(
        std::memcmp(&around.bytes[offset - around.address], bytes_of(path).data() + offset, 13), 0);
    EXPECT_EQ(code->symbol(std::uint64_t{1} << 40U), "");
    EXPECT_TRUE(code->code(std::uint64_t{1} << 40U, 4096).bytes.empty());
  }
}

TEST(Symbols, OfAStrippedProgramAreNotGuessed) {
  auto code = open_code(HOT_LOOPS_STRIPPED);
  ASSERT_TRUE(code);
  const auto offset = offset_of_loop(HOT_LOOPS_STRIPPED);
  EXPECT_EQ(code->symbol(offset + 2), "");
  EXPECT_FALSE(code->code(offset, 4096).bytes.empty());
}

TEST(Symbols, ComeWithLinesWhereThereIsDebugInformation) {
  auto code = open_code(HOT_LOOPS);
  ASSERT_TRUE(code);
  // Any byte of main() will do: look for the function by its name, a byte at a time.
  const CodeBytes around = code->code(offset_of_loop(HOT_LOOPS), 1U << 16U);
  std::optional<report::SourceLine> line;
  for (std::uint64_t at = around.address; at < around.address + around.bytes.size(); ++at) {
    if (code->symbol(at) != "main") continue;
    line = code->line(at);
    if (line) break;
  }
  ASSERT_TRUE(line);
  EXPECT_THAT(line->file, ::testing::EndsWith("hot_loops_main.cpp"));
  EXPECT_GT(line->line, 30);
  EXPECT_EQ(ElfFile(HOT_LOOPS).build_id().size(), 40U);
}

TEST(Symbols, RefuseWhatIsNoProgramOfThisMachine) {
  const TemporaryFile text("no ELF\n");
  EXPECT_THAT(open_code(text.path()).error().what, HasSubstr("no ELF file"));
  std::string foreign = bytes_of(HOT_LOOPS);
  Elf64_Ehdr header;
  std::memcpy(&header, foreign.data(), sizeof header);
  header.e_machine = EM_S390;
  std::memcpy(foreign.data(), &header, sizeof header);
  const TemporaryFile other(foreign);
  EXPECT_THAT(open_code(other.path()).error().what, HasSubstr("another kind of CPU"));
  const TemporaryFile cut(bytes_of(HOT_LOOPS).substr(0, 100));
  if (auto code = open_code(cut.path())) {
    EXPECT_EQ(code->symbol(0x1000), "");
  }
}

TEST(Symbols, GiveNoBytesOfAFileThatWasWrittenTo) {
  const TemporaryFile copy(bytes_of(HOT_LOOPS));
  auto code = open_code(copy.path());
  ASSERT_TRUE(code);
  const auto offset = offset_of_loop(HOT_LOOPS);
  EXPECT_FALSE(code->code(offset, 4096).bytes.empty());
  std::ofstream(copy.path(), std::ios::app) << "more";
  EXPECT_TRUE(code->changed());
  EXPECT_TRUE(code->code(offset, 4096).bytes.empty());
}

// A mapped file that is cut off ends its reader.
TEST(Symbols, OutliveTheirFile) {
  const TemporaryFile copy(bytes_of(HOT_LOOPS));
  auto code = open_code(copy.path());
  ASSERT_TRUE(code);
  const auto offset = offset_of_loop(HOT_LOOPS);
  EXPECT_NE(code->symbol(offset + 2), "");  // reads the table of symbols
  ASSERT_EQ(::truncate(copy.path().c_str(), 4096), 0);
  EXPECT_EQ(code->line(offset + 2), std::nullopt);  // and would read the lines only now
}

// A debug file in a folder of its own, beside a stripped file that is not there at all.
class DebugFiles : public ::testing::Test {
 protected:
  DebugFiles() {
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    std::ofstream(path_ = folder_ + "/program.debug", std::ios::binary) << bytes_;
    ::chmod(path_.c_str(), 0644);
  }
  ~DebugFiles() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] DebugFileWanted wanted() const {
    return {.beside = folder_ + "/program",
            .build_id = ElfFile(HOT_LOOPS).build_id(),
            .link = "program.debug",
            .link_checksum = 0};
  }
  [[nodiscard]] std::uint32_t checksum() const {
    return static_cast<std::uint32_t>(::crc32(0,
                                              reinterpret_cast<const unsigned char*>(bytes_.data()),
                                              static_cast<uInt>(bytes_.size())));
  }

  std::string folder_ = ::testing::TempDir() + "hwprof_XXXXXX", path_;
  std::string bytes_ = bytes_of(HOT_LOOPS);
};

TEST_F(DebugFiles, AreThoseOfTheSameBuild) {
  const DebugFile found = find_debug_file(wanted());
  EXPECT_TRUE(found.file.valid());
  EXPECT_EQ(found.path, path_);
  DebugFileWanted other = wanted();
  other.build_id.back() = other.build_id.back() == '0' ? '1' : '0';
  EXPECT_FALSE(find_debug_file(other).file.valid());
}

TEST_F(DebugFiles, AreKnownByTheirBytesWhereThereIsNoBuildId) {
  DebugFileWanted by_checksum = wanted();
  by_checksum.build_id.clear();
  by_checksum.link_checksum = checksum();
  EXPECT_TRUE(find_debug_file(by_checksum).file.valid());
  ++by_checksum.link_checksum;
  EXPECT_FALSE(find_debug_file(by_checksum).file.valid());
}

TEST_F(DebugFiles, AreNotWaitedFor) {
  std::filesystem::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0644), 0);
  EXPECT_FALSE(find_debug_file(wanted()).file.valid());
}

TEST_F(DebugFiles, OfOthersAreCopied) {
  ::chmod(path_.c_str(), 0666);  // root's own are not
  const DebugFile found = find_debug_file(wanted());
  ASSERT_EQ(::truncate(path_.c_str(), 4096), 0);
  struct stat status {};
  ASSERT_EQ(::fstat(found.file.get(), &status), 0);
  EXPECT_EQ(static_cast<std::size_t>(status.st_size), bytes_.size());
}

TEST(Symbols, AreDemangled) {
  EXPECT_EQ(demangle("_ZN3foo3barEi"), "foo::bar(int)");
  EXPECT_EQ(demangle("sgemm_"), "sgemm_");
  EXPECT_EQ(demangle("_Zbroken"), "_Zbroken");
}

TEST(JitMap, NamesGeneratedCode) {
  const JitMap map =
      JitMap::parse("1000 20 first\n1020 10 second <float>\nbad line\n\n1000 8 anew\n");
  EXPECT_EQ(map.symbol(0x1000), "anew");
  EXPECT_EQ(map.symbol(0x1008), "");  // of the function that was there before
  EXPECT_EQ(map.symbol(0x102f), "second <float>");
  EXPECT_EQ(map.symbol(0x1030), "");
  EXPECT_EQ(map.symbol(0xfff), "");
}

TEST(JitMap, IsBelievedOnlyFromTheObservedUserOrRootAndIsNoLink) {
  const TemporaryFile file("1000 20 name\n");
  EXPECT_TRUE(JitMap::load(file.path(), ::geteuid()));
  const std::string link = file.path() + ".link";
  ASSERT_EQ(::symlink(file.path().c_str(), link.c_str()), 0);
  const auto by_link = JitMap::load(link, ::geteuid());
  ::unlink(link.c_str());
  ASSERT_FALSE(by_link);
  EXPECT_THAT(by_link.error().what, HasSubstr("symbolic link"));
  const std::string pipe = file.path() + ".pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto by_pipe = JitMap::load(pipe, ::geteuid());  // and does not wait for a writer
  ::unlink(pipe.c_str());
  EXPECT_FALSE(by_pipe);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(::chown(file.path().c_str(), 65534, 65534), 0);
  const auto foreign = JitMap::load(file.path(), 0);
  ASSERT_FALSE(foreign);
  EXPECT_THAT(foreign.error().what, HasSubstr("belongs to user 65534"));
  EXPECT_TRUE(JitMap::load(file.path(), 65534));
}

}  // namespace
}  // namespace hwprof::observe
