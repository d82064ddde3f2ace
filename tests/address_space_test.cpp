#include "src/observe/proc/address_space.h"

#include <gtest/gtest.h>

#include "src/observe/proc/maps.h"

namespace hwprof::observe {
namespace {

Mapped library(int pid, std::uint64_t start, std::uint64_t length, const std::string& path) {
  return {pid, start, length, 0x1000, {8, 1, 5}, path};
}

std::string path_at(const AddressSpaces& spaces, int pid, std::uint64_t address) {
  const Mapping* mapping = spaces.find(pid, address);
  return mapping != nullptr ? mapping->path : "";
}

TEST(AddressSpace, FindsWhatHoldsAnAddressAndNothingBesideIt) {
  AddressSpaces spaces;
  spaces.apply(library(1, 0x1000, 0x1000, "/a"));
  EXPECT_EQ(path_at(spaces, 1, 0x1000), "/a");
  EXPECT_EQ(path_at(spaces, 1, 0x1fff), "/a");
  EXPECT_EQ(path_at(spaces, 1, 0x0fff), "");
  EXPECT_EQ(path_at(spaces, 1, 0x2000), "");
  EXPECT_EQ(path_at(spaces, 2, 0x1000), "");
}

TEST(AddressSpace, CutsWhatIsMappedOver) {
  AddressSpaces spaces;
  spaces.apply(library(1, 0x1000, 0x4000, "/a"));
  spaces.apply(library(1, 0x2000, 0x1000, "/b"));
  EXPECT_EQ(path_at(spaces, 1, 0x1800), "/a");
  EXPECT_EQ(path_at(spaces, 1, 0x2000), "/b");
  EXPECT_EQ(path_at(spaces, 1, 0x3000), "/a");
  EXPECT_EQ(spaces.find(1, 0x1800)->offset, 0x1000U);
  EXPECT_EQ(spaces.find(1, 0x3000)->offset, 0x3000U);  // 0x1000 + 0x2000 into the mapping
  spaces.apply(library(1, 0x0800, 0x8000, "/c"));
  for (const std::uint64_t address : {0x1800, 0x2000, 0x3000, 0x4fff}) {
    EXPECT_EQ(path_at(spaces, 1, address), "/c");
  }
}

TEST(AddressSpace, TellsAMappingMadeAnewFromTheOldOne) {
  AddressSpaces spaces;
  spaces.apply(library(1, 0x1000, 0x1000, "//anon"));
  const auto first = spaces.find(1, 0x1000)->generation;
  spaces.apply(library(1, 0x1000, 0x1000, "//anon"));
  EXPECT_NE(spaces.find(1, 0x1000)->generation, first);
}

TEST(AddressSpace, OfAChildIsACopyThatChangesAlone) {
  AddressSpaces spaces;
  spaces.apply(Named{1, 1, false, "parent"});
  spaces.apply(library(1, 0x1000, 0x1000, "/a"));
  spaces.apply(Forked{2, 1, 2});
  spaces.apply(library(2, 0x1000, 0x1000, "/child"));
  spaces.apply(library(1, 0x5000, 0x1000, "/parent"));
  EXPECT_EQ(path_at(spaces, 1, 0x1000), "/a");
  EXPECT_EQ(path_at(spaces, 2, 0x1000), "/child");
  EXPECT_EQ(path_at(spaces, 2, 0x5000), "");
  EXPECT_EQ(spaces.name(2), "parent");
}

TEST(AddressSpace, IsEmptyAfterAnExec) {
  AddressSpaces spaces;
  spaces.apply(library(1, 0x1000, 0x1000, "/a"));
  spaces.apply(Named{1, 1, false, "renamed itself"});
  EXPECT_EQ(path_at(spaces, 1, 0x1000), "/a");
  spaces.apply(Named{1, 1, true, "other"});
  EXPECT_EQ(path_at(spaces, 1, 0x1000), "");
  EXPECT_EQ(spaces.name(1), "other");
}

TEST(AddressSpace, LivesAsLongAsAThreadOfIt) {
  AddressSpaces spaces;
  spaces.apply(library(1, 0x1000, 0x1000, "/a"));
  spaces.apply(Forked{1, 1, 2});
  spaces.apply(Exited{1, 1});  // the first thread, before the other
  EXPECT_EQ(path_at(spaces, 1, 0x1000), "/a");
  spaces.apply(Exited{1, 2});
  EXPECT_EQ(path_at(spaces, 1, 0x1000), "");
}

TEST(AddressSpace, IsReadFromProcToo) {
  const auto maps =
      mapped_code(9,
                  "7f0000001000-7f0000003000 r-xp 00002000 fd:01 77         /usr/lib/a name.so\n"
                  "7f0000003000-7f0000004000 rw-p 00000000 00:00 0 \n"
                  "7f0000005000-7f0000006000 rwxp 00000000 00:00 0 \n"
                  "7ffff0000000-7ffff0001000 r-xp 00000000 00:00 0          [vdso]\n"
                  "7f0000007000-7f0000008000 r-xp 00000000 fe:00 79  /tmp/a b\\012c (deleted)\n"
                  "nonsense\n");
  ASSERT_EQ(maps.size(), 4U);
  EXPECT_EQ(maps[0].path, "/usr/lib/a name.so");
  EXPECT_EQ(maps[0].start, 0x7f0000001000U);
  EXPECT_EQ(maps[0].length, 0x2000U);
  EXPECT_EQ(maps[0].offset, 0x2000U);
  EXPECT_EQ(maps[0].file, (FileId{0xfd, 1, 77}));
  EXPECT_EQ(maps[1].path, "//anon");
  EXPECT_EQ(maps[2].path, "[vdso]");
  EXPECT_TRUE(maps[0].takes_probes);
  EXPECT_FALSE(maps[1].takes_probes);
  EXPECT_FALSE(maps[0].deleted);
  EXPECT_TRUE(maps[3].deleted);
  EXPECT_EQ(maps[3].path, "/tmp/a b\nc");
}

}  // namespace
}  // namespace hwprof::observe
