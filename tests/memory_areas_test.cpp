// Where memory lies: what is read from texts as the kernel has them, of machines with one and with
// two NUMA nodes, and what is said of it.
#include "src/observe/proc/memory_areas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/blas/judge/judge_run.h"

namespace hwprof {
namespace {

using observe::MappedArea;
using report::LargeMemory;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

// Linux 6.1, shortened: a file, the heap, an array in huge pages, shared memory, a small stack.
constexpr const char* kSmaps =
    "55d0c8a00000-55d0c8a22000 r--p 00000000 fe:01 1311031                    /usr/bin/python3.11\n"
    "Size:              20480 kB\n"
    "Rss:               20480 kB\n"
    "AnonHugePages:         0 kB\n"
    "55d0ca27c000-55d0cc27c000 rw-p 00000000 00:00 0                          [heap]\n"
    "Size:              32768 kB\n"
    "KernelPageSize:        4 kB\n"
    "Rss:               24576 kB\n"
    "Pss:               24576 kB\n"
    "AnonHugePages:         0 kB\n"
    "THPeligible:    0\n"
    "VmFlags: rd wr mr mw me ac sd \n"
    "7f1a80000000-7f1ac0000000 rw-p 00000000 00:00 0 \n"
    "Rss:             1048576 kB\n"
    "AnonHugePages:   1046528 kB\n"
    "7f1b00000000-7f1b40000000 rw-s 00000000 00:01 0                          /dev/zero (deleted)\n"
    "Rss:             1048576 kB\n"
    "7ffc1b5e3000-7ffc1b604000 rw-p 00000000 00:00 0                          [stack]\n"
    "Rss:                 132 kB\n";

// Linux 6.1 with two nodes: memory spread by its threads, a heap on one node.
constexpr const char* kNumaMaps =
    "55d0c8a00000 default file=/usr/bin/python3.11 mapped=5120 N0=5120 kernelpagesize_kB=4\n"
    "55d0ca27c000 default heap anon=6144 dirty=6144 active=6000 N1=6144 kernelpagesize_kB=4\n"
    "7f1a80000000 default anon=262144 dirty=262144 N0=196608 N1=65536 kernelpagesize_kB=4\n"
    "7ffc1b5e3000 default stack anon=33 dirty=33 N0=33 kernelpagesize_kB=4\n";

TEST(MemoryAreas, AreThePrivateOnesWithoutAFile) {
  const std::vector<MappedArea> areas = observe::parse_smaps(kSmaps);
  ASSERT_EQ(areas.size(), 2U);
  EXPECT_EQ(areas[0].start, 0x7f1a80000000U);
  EXPECT_EQ(areas[0].area.bytes, 1024 * kMiB);
  EXPECT_EQ(areas[0].area.resident_bytes, 1024 * kMiB);
  EXPECT_EQ(areas[0].area.huge_bytes, 1022 * kMiB);
  EXPECT_EQ(areas[0].area.name, "");
  EXPECT_EQ(areas[1].area.name, "[heap]");
  EXPECT_EQ(areas[1].area.bytes, 32 * kMiB);
  EXPECT_EQ(areas[1].area.resident_bytes, 24 * kMiB);
  EXPECT_EQ(areas[1].area.huge_bytes, 0U);
  EXPECT_EQ(observe::parse_smaps(kSmaps, 1).size(), 3U) << "the stack, too";
}

TEST(MemoryAreas, AreNoneOfWhatIsNoSuchText) {
  for (const char* text :
       {"", "\n", "-", "7-\n", "9-7 rw-p 0 00:00 0\nRss: 99999 kB\n", "Rss: 1 kB\n",
        "7f00-7f01 rw-p 0 00:00 0\nRss: 99999999999999999999 kB\n",
        "7f00-7f01 rw-p 0 00:00 0\nRss: 18446744073709551615 kB\n"}) {
    EXPECT_THAT(observe::parse_smaps(text, 4096), IsEmpty()) << text;
  }
  // No part exceeds its whole.
  const auto areas =
      observe::parse_smaps("0-1000 rw-p 0 00:00 0\nRss: 64 kB\nAnonHugePages: 128 kB\n", 1);
  ASSERT_EQ(areas.size(), 1U);
  EXPECT_EQ(areas[0].area.resident_bytes, 4096U);
  EXPECT_EQ(areas[0].area.huge_bytes, 4096U);
}

TEST(MemoryAreas, LieOnTheNodesThatTheKernelCounts) {
  const std::vector<MappedArea> areas = observe::parse_smaps(kSmaps);
  EXPECT_THAT(observe::parse_numa_maps(kNumaMaps, areas),
              ElementsAre(Pair(0U, 768 * kMiB), Pair(1U, (256 + 24) * kMiB)));
  EXPECT_THAT(observe::parse_numa_maps(
                  "7f1a80000000 default huge anon=512 N1=512 kernelpagesize_kB=2048\n", areas),
              ElementsAre(Pair(1U, 1024 * kMiB)));
  for (const char* text : {"", "x\n", "7f1a80000000\n", "7f1a80000000 N=1 N0 N0= =7 N0=x\n",
                           "7f1a80000000 N99999=7 N1=18446744073709551615\n", "1000 N0=7\n"}) {
    EXPECT_THAT(observe::parse_numa_maps(text, areas), IsEmpty()) << text;
  }
}

TEST(MemoryAreas, KnowTheSettingForHugePages) {
  EXPECT_EQ(observe::chosen_setting("always [madvise] never\n"), "madvise");
  EXPECT_EQ(observe::chosen_setting("[always] madvise never\n"), "always");
  EXPECT_EQ(observe::chosen_setting("always madvise never"), "");
  EXPECT_EQ(observe::chosen_setting("]["), "");
}

TEST(MemoryAreas, KnowTheCpuOfAThreadThatRuns) {
  const std::string behind =
      " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 "
      "34 "
      "17 5 99";
  // Numbers 4 to 37, 38 is the signal at exit, 39 the CPU.
  EXPECT_EQ(observe::running_cpu("7 (a) b) R" + behind), 5U);
  EXPECT_FALSE(observe::running_cpu("7 (a) b) S" + behind));
  EXPECT_FALSE(observe::running_cpu("7 (a) R 1 2 3"));
  EXPECT_FALSE(observe::running_cpu(""));
}

TEST(MemoryNodes, HaveSharesOfThreadsOnceEnoughWereSeen) {
  auto nodes = observe::memory_nodes({{0, 100}}, {{0, 5}, {1, 15}});
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].bytes, 100U);
  EXPECT_EQ(nodes[0].run_share, 0.25);
  EXPECT_EQ(nodes[1].bytes, 0U);
  EXPECT_EQ(nodes[1].run_share, 0.75);
  nodes = observe::memory_nodes({{0, 100}}, {{0, 5}, {1, 14}});
  EXPECT_FALSE(nodes[0].run_share);
  EXPECT_FALSE(nodes[1].run_share);
}

LargeMemory on_nodes(std::uint64_t first, std::uint64_t second, std::optional<double> first_runs) {
  LargeMemory memory;
  memory.areas = {{.name = "", .bytes = first + second, .resident_bytes = first + second}};
  memory.nodes = {{.node = 0, .bytes = first, .run_share = first_runs},
                  {.node = 1, .bytes = second, .run_share = first_runs}};
  if (first_runs) memory.nodes[1].run_share = 1 - *first_runs;
  return memory;
}

TEST(NodeFinding, SaysThatThreadsAreElsewhere) {
  EXPECT_THAT(blas::node_finding(on_nodes(100 * kMiB, 900 * kMiB, 1)),
              AllOf(HasSubstr("90 % of the 1000 MiB in large areas lie on other NUMA nodes than "
                              "node 0, on which 100 % of the running threads were"),
                    HasSubstr("numactl --cpunodebind=0 --membind=0")));
}

TEST(NodeFinding, SaysThatOneThreadTouchedAllMemory) {
  EXPECT_THAT(
      blas::node_finding(on_nodes(990 * kMiB, 10 * kMiB, 0.5)),
      AllOf(HasSubstr("99 % of the 1000 MiB in large areas lie on NUMA node 0, while 50 % of "
                      "the running threads were on others"),
            HasSubstr("numactl --interleave=all")));
}

TEST(NodeFinding, IsSilentWhereTheEvidenceIsNotEnough) {
  EXPECT_EQ(blas::node_finding({}), "");
  EXPECT_EQ(blas::node_finding(on_nodes(1000 * kMiB, 0, 1)), "") << "both are on one";
  EXPECT_EQ(blas::node_finding(on_nodes(500 * kMiB, 500 * kMiB, 0.5)), "") << "spread alike";
  EXPECT_EQ(blas::node_finding(on_nodes(700 * kMiB, 300 * kMiB, 0.4)), "") << "neither on one";
  EXPECT_EQ(blas::node_finding(on_nodes(1000 * kMiB, 0, std::nullopt)), "") << "few threads seen";
  EXPECT_EQ(blas::node_finding(on_nodes(1 * kMiB, 50 * kMiB, 1)), "") << "little memory";
}

LargeMemory in_pages(std::uint64_t huge, const char* setting) {
  LargeMemory memory;
  memory.areas = {
      {.name = "", .bytes = 512 * kMiB, .resident_bytes = 512 * kMiB, .huge_bytes = huge}};
  memory.huge_pages = setting;
  return memory;
}

TEST(HugePageWords, NameTheSettingThatLeavesMemoryInSmallPages) {
  EXPECT_THAT(blas::huge_page_words(in_pages(0, "madvise")),
              AllOf(HasSubstr("512 MiB in large areas lie in small pages (huge ones: 0 %)"),
                    HasSubstr("GLIBC_TUNABLES=glibc.malloc.hugetlb=1"), Not(HasSubstr("root"))));
  EXPECT_THAT(blas::huge_page_words(in_pages(8 * kMiB, "never")),
              AllOf(HasSubstr("as root, echo madvise > /sys/kernel"), HasSubstr("hugetlb=1")));
}

TEST(HugePageWords, AreNoneWhereNoSettingWouldChangeIt) {
  EXPECT_EQ(blas::huge_page_words(in_pages(0, "always")), "");
  EXPECT_EQ(blas::huge_page_words(in_pages(0, "process")), "");
  EXPECT_EQ(blas::huge_page_words(in_pages(0, "")), "");
  EXPECT_EQ(blas::huge_page_words(in_pages(400 * kMiB, "madvise")), "");
  EXPECT_EQ(blas::huge_page_words({}), "");
  LargeMemory little = in_pages(0, "madvise");
  little.areas[0].resident_bytes = 32 * kMiB;
  EXPECT_EQ(blas::huge_page_words(little), "");
}

}  // namespace
}  // namespace hwprof
