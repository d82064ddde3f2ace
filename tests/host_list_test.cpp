// Lists of hosts are taken strictly: what is not in one nobody misses.
#include "src/commands/fleet/host_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hwprof {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names(const Result<std::vector<ExpectedHost>>& hosts) {
  std::vector<std::string> all;
  if (!hosts) return {"error: " + hosts.error().what};
  for (const ExpectedHost& host : *hosts) all.push_back(host.name);
  return all;
}

TEST(HostList, RangesKeepTheirWidth) {
  EXPECT_THAT(names(parse_host_ranges("node[08-11]")),
              ElementsAre("node08", "node09", "node10", "node11"));
  EXPECT_THAT(names(parse_host_ranges("n[9-11]")), ElementsAre("n9", "n10", "n11"));
  EXPECT_THAT(names(parse_host_ranges("n[01-02,7]-ib,login")),
              ElementsAre("n01-ib", "n02-ib", "n7-ib", "login"));
  EXPECT_THAT(names(parse_host_ranges("r[1-2]n[1-2]")),
              ElementsAre("r1n1", "r1n2", "r2n1", "r2n2"));
}

TEST(HostList, WhatIsWrittenWrongIsRefusedWithThePlace) {
  for (const char* wrong : {"node[40-01]",
                            "node[01-",
                            "node01-]",
                            "node[[1-2]]",
                            "node[]",
                            "node[a-b]",
                            "node[1-]",
                            "node[-3]",
                            "node[1-2-3]",
                            "a,,b",
                            "a,",
                            "",
                            "no de",
                            "../x",
                            "node[1-2]x/y",
                            "n[010-11]",
                            "n[1-9999999999999999999]",
                            "n[+1-2]",
                            "n[0-99999][0-9]",
                            "n[0-100000]"}) {
    const auto hosts = parse_host_ranges(wrong);
    EXPECT_FALSE(hosts) << wrong;
    if (!hosts) {
      EXPECT_EQ(hosts.error().fault, Fault::kUsage);
    }
  }
  EXPECT_THAT(parse_host_ranges("node[40-01]").error().what, HasSubstr("40-01"));
}

TEST(HostList, WhatIsLongIsNotMultiplied) {
  const std::string range = "[1-99999]";
  EXPECT_FALSE(parse_host_ranges(std::string(254, 'n')));
  EXPECT_TRUE(parse_host_ranges(std::string(253, 'n')));
  // A million bytes a host would be a hundred gigabytes.
  const std::string name(1'000'000, 'n');
  EXPECT_FALSE(parse_host_ranges(name + range));
  EXPECT_FALSE(parse_host_ranges("n" + range + name));
  const auto hosts = parse_host_lines("sinfo", "n" + range + "|down|" + name);
  ASSERT_TRUE(hosts) << hosts.error().what;
  EXPECT_EQ(hosts->back().unavailable, "down: " + name.substr(0, 200) + "...");
}

TEST(HostList, AHostStandsOnce) {
  EXPECT_THAT(parse_host_ranges("node[1-3],node2").error().what, HasSubstr("node2 stands twice"));
  EXPECT_FALSE(parse_host_ranges("a,A"));
  EXPECT_THAT(parse_host_lines("hosts", "a\n\nb\na # again\n").error().what,
              HasSubstr("hosts: a stands in line 1 and in line 4"));
}

TEST(HostList, LinesMayHaveCommentsAndRanges) {
  EXPECT_THAT(names(parse_host_lines("hosts", "# the lab\n n[1-2] \nlogin # ours\n\n")),
              ElementsAre("n1", "n2", "login"));
  EXPECT_THAT(parse_host_lines("hosts", "a\nb[\n").error().what, HasSubstr("hosts, line 2: "));
  EXPECT_FALSE(parse_host_lines("hosts", "# nothing\n"));
}

TEST(HostList, AStateOfSlurmSaysWhyThereIsNoRecord) {
  const auto hosts = parse_host_lines("sinfo",
                                      "n1|idle|none\n"
                                      "n2|drained|disk failed | twice\n"
                                      "n3|down*|Not responding\n"
                                      "n4|mixed*|none\n"
                                      "n5|DOWN|none\n"
                                      "n6|allocated\n");
  ASSERT_TRUE(hosts) << hosts.error().what;
  std::vector<std::string> reasons;
  for (const ExpectedHost& host : *hosts) reasons.push_back(host.unavailable);
  EXPECT_THAT(reasons, ElementsAre("", "drained: disk failed | twice", "down*: Not responding",
                                   "mixed*: it does not answer", "down", ""));
}

}  // namespace
}  // namespace hwprof
