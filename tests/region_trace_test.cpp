// What a trace holds, how regions are described, and the memory that is allocated in them. This
// program has the memory hook linked in, as hwprof itself.
#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <memory>
#include <thread>

#include "src/base/sanitized.h"
#include "tests/region_harness.h"
#include "tests/temporary_file.h"

namespace hwprof {
namespace {

using testing::HasSubstr;

Json trace() {
  const TemporaryFile file("");
  const char* problem = hwprof_write_trace(file.path().c_str());
  EXPECT_EQ(problem, nullptr) << problem;
  std::ifstream in(file.path());
  return Json::parse(in);
}

std::vector<Json> slices(const Json& trace) {
  std::vector<Json> found;
  for (const Json& event : trace["traceEvents"])
    if (event["ph"] == "X") found.push_back(event);
  return found;
}

std::int64_t nanoseconds(const Json& microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}

// Two slices of one thread are apart, or one lies inside the other.
void expect_nested(const Json& trace) {
  std::map<int, std::vector<std::pair<std::int64_t, std::int64_t>>> threads;
  for (const Json& slice : slices(trace)) {
    const std::int64_t start = nanoseconds(slice["ts"]);
    threads[slice["tid"]].emplace_back(start, start + nanoseconds(slice["dur"]));
  }
  for (auto& [thread, calls] : threads) {
    std::sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    std::vector<std::int64_t> open;
    for (const auto& [start, end] : calls) {
      while (!open.empty() && open.back() <= start) open.pop_back();
      if (!open.empty()) {
        EXPECT_LE(end, open.back()) << "thread " << thread;
      }
      open.push_back(end);
    }
  }
}

TEST(RegionTrace, EveryCallIsASliceInsideTheOneAroundIt) {
  in_child([] {
    ASSERT_EQ(trace_regions(""), "");
    const auto work = [] {
      for (int i = 0; i < 100; ++i) {
        Region outer("outer");
        outer.describe("Block", "2x3");
        pass("inner");
        Region other("other \"quoted\"");
        pass("inner");
      }
    };
    std::thread(work).join();
    work();
    const Json seen = trace();
    EXPECT_EQ(slices(seen).size(), 800u);
    expect_nested(seen);
    EXPECT_EQ(seen["otherData"]["schema"], "hwprof.trace/1");
    EXPECT_EQ(seen["otherData"]["threads"], 2);
    EXPECT_EQ(seen["otherData"]["dropped_calls"], 0);
    for (const Json& slice : slices(seen)) {
      if (slice["name"] != "outer") continue;
      EXPECT_EQ(slice["cat"], "Block");
      EXPECT_EQ(slice["args"]["shape"], "2x3");
    }
  });
}

TEST(RegionTrace, TimesAndCountsAddUpToThoseOfTheReport) {
  in_child([] {
    ASSERT_EQ(start_regions("page-faults"), "");
    ASSERT_EQ(trace_regions(""), "");
    for (int i = 0; i < 50; ++i) {
      Region outer("outer");
      pass("inner");
    }
    const Json seen = trace(), table = report();
    double total_ns = 0, faults = 0;
    int tracks = 0;
    for (const Json& slice : slices(seen)) {
      if (slice["name"] != "outer") continue;
      total_ns += slice["dur"].get<double>() * 1000;
      if (is_counted(table, "page-faults")) faults += slice["args"]["page-faults"].get<double>();
    }
    for (const Json& event : seen["traceEvents"]) tracks += event["ph"] == "C" ? 1 : 0;
    const Json outer = row(table, {"outer"});
    EXPECT_NEAR(total_ns, outer["total_ns"]["raw"].get<double>(), 0.1);
    if (is_counted(table, "page-faults")) {
      EXPECT_EQ(faults, outer["events"]["page-faults"]["total"]["raw"].get<double>());
      EXPECT_GT(tracks, 0);
    }
  });
}

TEST(RegionTrace, AFullRingKeepsTheLastCallsAndSaysHowManyItDropped) {
  in_child([] {
    setenv("HWPROF_TRACE_CALLS", "64", 1);
    ASSERT_EQ(trace_regions(""), "");
    for (int i = 0; i < 500; ++i) {
      Region outer("outer");
      pass("inner");
    }
    pass("last");
    const Json seen = trace();
    EXPECT_EQ(slices(seen).size(), 64u);
    EXPECT_EQ(slices(seen).back()["name"], "last");
    expect_nested(seen);
    EXPECT_EQ(seen["otherData"]["dropped_calls"], 1001 - 64);
    EXPECT_THAT(seen["otherData"]["note"].get<std::string>(), HasSubstr("937 earlier calls"));
  });
}

TEST(RegionTrace, AThousandThreadsTakeBoundedMemory) {
  in_child([] {
    ASSERT_EQ(trace_regions(""), "");
    for (int i = 0; i < 200; ++i) std::thread([] { pass("task"); }).join();
    const Json seen = trace();
    EXPECT_EQ(slices(seen).size() + seen["otherData"]["dropped_calls"].get<std::size_t>(), 200u);
    EXPECT_LE(slices(seen).size(), 64u);
  });
}

TEST(RegionTrace, IsRefusedOnceThereAreRegionsAndNotWrittenUnasked) {
  in_child([] {
    pass("first");
    EXPECT_THAT(trace_regions("x.json"), HasSubstr("entered already"));
    EXPECT_THAT(std::string(hwprof_write_trace("x.json")), HasSubstr("no trace was asked for"));
  });
}

TEST(RegionTrace, ANumberOfCallsThatIsNoneIsSaidAndNotFollowed) {
  in_child([] {
    setenv("HWPROF_TRACE_CALLS", "many", 1);
    ASSERT_EQ(trace_regions(""), "");
    pass("one");
    EXPECT_THAT(report()["notes"].dump(), HasSubstr("HWPROF_TRACE_CALLS: 'many'"));
    EXPECT_EQ(slices(trace()).size(), 1u);
  });
}

std::vector<Json> rows_named(const Json& report, const char* name) {
  std::vector<Json> rows;
  for (const Json& row : report["regions"])
    if (row["path"].back() == name) rows.push_back(row);
  return rows;
}

TEST(RegionDescription, EntriesOfOneNameAndAnotherShapeAreRowsOfTheirOwn) {
  in_child([] {
    for (int i = 0; i < 5; ++i) {
      Region conv("conv");
      conv.describe("Convolution", i % 2 == 0 ? "3x3" : "5x5");
      pass("inside");
      Region same("conv");  // inside itself: described as the outermost is
      same.describe("Convolution", "7x7");
    }
    pass("conv");
    const Json seen = report();
    const std::vector<Json> rows = rows_named(seen, "conv");
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[1]["shape"], "3x3") << "in the order of their first entry";
    std::map<std::string, int> calls;
    for (const Json& row : rows)
      calls[row["shape"].is_null() ? "" : row["shape"].get<std::string>()] = row["calls"];
    EXPECT_EQ(calls, (std::map<std::string, int>{{"", 1}, {"3x3", 6}, {"5x5", 4}}));
    EXPECT_EQ(rows_named(seen, "inside").size(), 2u);
    EXPECT_TRUE(seen["notes"].empty()) << seen["notes"];
  });
}

TEST(RegionDescription, ALateOneIsIgnoredAndReported) {
  in_child([] {
    Region outer("outer");
    {
      Region inner("inner");
      outer.describe("Block", nullptr);
    }
    EXPECT_THAT(report()["notes"].dump(), HasSubstr("1 description was ignored"));
  });
}

class RegionMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (HWPROF_SANITIZED != 0) GTEST_SKIP() << "sanitizers have an allocator of their own";
  }
};

// volatile: not left out.
void use(std::size_t bytes) {
  void* volatile memory = std::malloc(bytes);
  std::free(memory);
}

TEST_F(RegionMemoryTest, SelfTotalAndPeakAreThoseOfTheThread) {
  in_child([] {
    constexpr int kMiB = 1 << 20;
    pass("warm up");
    {
      Region outer("outer");
      use(4 * kMiB);
      void* volatile kept = std::malloc(kMiB);
      {
        Region inner("inner");
        use(2 * kMiB);
        use(2 * kMiB);
      }
      std::thread([] { use(8 * kMiB); }).join();
      std::free(kept);
    }
    const Json seen = report();
    EXPECT_TRUE(seen["memory_reason"].is_null()) << seen["memory_reason"];
    const Json inner = row(seen, {"outer", "inner"})["memory_bytes"];
    const Json outer = row(seen, {"outer"})["memory_bytes"];
    constexpr double kSlack = 64 << 10;  // the allocator rounds up; a thread takes some for itself
    EXPECT_NEAR(inner["total"], 4 * kMiB, kSlack);
    EXPECT_EQ(inner["total"], inner["self"]);
    EXPECT_NEAR(inner["peak"], 2 * kMiB, kSlack);
    EXPECT_NEAR(outer["total"], 9 * kMiB, kSlack) << "without the other thread's";
    EXPECT_EQ(outer["self"].get<int>() + inner["total"].get<int>(), outer["total"]);
    EXPECT_NEAR(outer["peak"], 4 * kMiB, kSlack) << "less than 1 + 4, since those come later";
  });
}

TEST_F(RegionMemoryTest, NamesAndShapesThatRegionsKeepAreNotTheProgramsMemory) {
  in_child([] {
    {
      Region outer("outer");
      for (int i = 0; i < 1000; ++i) {
        char name[32];
        std::snprintf(name, sizeof name, "inner %d", i);
        Region inner(name);
        inner.describe("a type with a name of some length", name);
      }
    }
    EXPECT_EQ(row(report(), {"outer"})["memory_bytes"]["total"], 0);
  });
}

}  // namespace
}  // namespace hwprof
