// Regions as a program uses them: nesting, threads, forks, and what goes wrong.
#include "counters/regions/region.h"

#include <gmock/gmock.h>
#include <malloc.h>
#include <sys/mman.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/region_harness.h"

namespace hwprof {
namespace {

using testing::HasSubstr;

// Each faults once: memory straight from the kernel.
void touch_pages(std::size_t count) {
  constexpr std::size_t kPage = 4096;
  void* memory =
      mmap(nullptr, count * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, count * kPage, MADV_NOHUGEPAGE);
  for (std::size_t at = 0; at < count; ++at) static_cast<volatile char*>(memory)[at * kPage] = 1;
  munmap(memory, count * kPage);
}

TEST(Region, CallPathsHaveCallsOfTheirOwn) {
  in_child([] {
    for (int i = 0; i < 3; ++i) {
      Region outer("outer");
      for (int j = 0; j < 2; ++j) pass("inner");
      Region other("other");
      Region inner("inner");
    }
    pass("inner");
    const Json seen = report();
    EXPECT_EQ(seen["schema"], "hwprof.regions/1");
    EXPECT_EQ(row(seen, {"outer"})["calls"], 3);
    EXPECT_EQ(row(seen, {"outer", "inner"})["calls"], 6);
    EXPECT_EQ(row(seen, {"outer", "other", "inner"})["calls"], 3);
    EXPECT_EQ(row(seen, {"inner"})["calls"], 1);
    EXPECT_EQ(seen["regions"].size(), 5u);
    EXPECT_TRUE(seen["notes"].empty()) << seen["notes"];
  });
}

TEST(Region, SelfIsTotalLessWhatIsDirectlyInsideExactly) {
  in_child([] {
    ASSERT_EQ(start_regions("page-faults,task-clock"), "");
    for (int i = 0; i < 20; ++i) {
      Region a("a");
      touch_pages(2);
      {
        Region b("b");
        touch_pages(3);
        Region c("c");
        touch_pages(10);
      }
      Region d("d");
    }
    const Json seen = report();
    for (const Json& row : seen["regions"]) {
      const std::vector<std::string> path = row["path"];
      for (const char* kind : {"raw", "corrected"}) {
        const double below =
            sum_below(seen, path, [&](const Json& r) { return r["total_ns"][kind].get<double>(); });
        EXPECT_EQ(row["self_ns"][kind].get<double>(), row["total_ns"][kind].get<double>() - below)
            << row["path"] << kind;
        for (const char* event : {"page-faults", "task-clock"}) {
          if (!is_counted(seen, event)) continue;
          const double events_below = sum_below(seen, path, [&](const Json& r) {
            return r["events"][event]["total"][kind].get<double>();
          });
          EXPECT_EQ(row["events"][event]["self"][kind].get<double>(),
                    row["events"][event]["total"][kind].get<double>() - events_below)
              << row["path"] << event << kind;
        }
      }
      EXPECT_LE(row["total_ns"]["corrected"], row["total_ns"]["raw"]);
    }
    if (is_counted(seen, "page-faults")) {
      EXPECT_GE(row(seen, {"a", "b", "c"})["events"]["page-faults"]["self"]["raw"], 20 * 10);
      EXPECT_EQ(row(seen, {"a"})["events"]["page-faults"]["status"], "ok");
    }
  });
}

void descend(int depth) {
  Region region("descend");
  if (depth > 0) descend(depth - 1);
}

TEST(Region, RecursionIsOnePathWhoseTotalIsTheOutermostCall) {
  in_child([] {
    {
      Region around("around");
      descend(1000);
    }
    const Json seen = report();
    const Json recursive = row(seen, {"around", "descend"});
    EXPECT_EQ(seen["regions"].size(), 2u);
    EXPECT_EQ(recursive["calls"], 1001);
    EXPECT_EQ(recursive["nested_calls"], 1000);
    EXPECT_EQ(recursive["total_ns"]["raw"], recursive["self_ns"]["raw"]);
    EXPECT_LE(recursive["total_ns"]["raw"], row(seen, {"around"})["total_ns"]["raw"]);
  });
}

TEST(Region, AMillionEntriesTakeNoMemoryBeyondTheirPaths) {
  in_child([] {
    const auto enter_many = [](int count) {
      for (int i = 0; i < count; ++i) {
        Region outer("outer");
        Region inner(i % 2 == 0 ? "even" : "odd");
      }
    };
    enter_many(10);
    const auto before = mallinfo2().uordblks;
    enter_many(500000);
    EXPECT_EQ(mallinfo2().uordblks, before);
    EXPECT_EQ(row(report(), {"outer", "odd"})["calls"], 250005);
    EXPECT_EQ(report()["regions"].size(), 3u);
  });
}

TEST(Region, NamesMadeUpAtRunTimeAreBoundedAndReported) {
  in_child([] {
    constexpr int kNames = 70000;
    for (int i = 0; i < kNames; ++i) {
      Region region("step " + std::to_string(i));
      Region inside("inside");
    }
    const Json seen = report();
    const std::size_t paths = seen["regions"].size();
    EXPECT_LT(paths, kNames);
    EXPECT_EQ(paths + seen["mishaps"]["dropped"].get<std::size_t>(), 2u * kNames);
    EXPECT_THAT(seen["notes"].dump(), HasSubstr("not recorded"));
  });
}

// The same characters at another address, and other characters at the same address.
TEST(Region, NamesAreComparedByTheirText) {
  in_child([] {
    char name[] = "first";
    { Region region(name); }
    name[0] = 'F';
    { Region region(name); }
    { Region region(std::string("fir") + "st"); }
    EXPECT_EQ(row(report(), {"first"})["calls"], 2);
    EXPECT_EQ(row(report(), {"First"})["calls"], 1);
  });
}

TEST(Region, AThousandThreadsAreMergedByPath) {
  in_child([] {
    ASSERT_EQ(start_regions("page-faults"), "");
    for (int wave = 0; wave < 20; ++wave) {
      std::vector<std::thread> threads;
      for (int i = 0; i < 50; ++i)
        threads.emplace_back([] {
          Region outer("work");
          for (int k = 0; k < 10; ++k) pass("part");
        });
      for (std::thread& thread : threads) thread.join();
    }
    const Json seen = report();
    EXPECT_EQ(seen["threads"]["total"], 1000);
    EXPECT_EQ(row(seen, {"work"})["threads"], 1000);
    EXPECT_EQ(row(seen, {"work"})["calls"], 1000);
    EXPECT_EQ(row(seen, {"work", "part"})["calls"], 10000);
    EXPECT_EQ(seen["threads"]["ended_inside"], 0);
    if (is_counted(seen, "page-faults")) {
      EXPECT_EQ(row(seen, {"work", "part"})["counted_calls"].get<int>() +
                    10 * seen["threads"]["without_counters"].get<int>(),
                10000);
    }
  });
}

TEST(Region, AThreadThatEndsInsideIsReported) {
  in_child([] {
    std::thread([] {
      hwprof_enter("outer");
      hwprof_enter("inner");
    }).join();
    std::thread([] { pass("outer"); }).join();
    const Json seen = report();
    EXPECT_EQ(seen["threads"]["ended_inside"], 1);
    EXPECT_EQ(row(seen, {"outer"})["calls"], 2);
    EXPECT_EQ(row(seen, {"outer"})["unfinished"], 1);
    EXPECT_EQ(row(seen, {"outer", "inner"})["unfinished"], 1);
    EXPECT_EQ(row(seen, {"outer"})["open"], 0);
    EXPECT_THAT(seen["notes"].dump(), HasSubstr("ended inside a region"));
    EXPECT_THAT(regions_text(), HasSubstr("2 (1 cut off)"));
  });
}

TEST(Region, AnOpenRegionIsCountedButNotTimed) {
  in_child([] {
    Region region("open");
    const Json seen = row(report(), {"open"});
    EXPECT_EQ(seen["open"], 1);
    EXPECT_EQ(seen["calls"], 0);
    EXPECT_EQ(seen["total_ns"]["raw"], 0);
  });
}

TEST(Region, AnExceptionLeavesTheRegionsThatItPasses) {
  in_child([] {
    try {
      Region outer("outer");
      Region inner("inner");
      throw std::runtime_error("out");
    } catch (const std::runtime_error&) {
      Region handler("handler");
    }
    const Json seen = report();
    EXPECT_EQ(row(seen, {"outer", "inner"})["calls"], 1);
    EXPECT_EQ(row(seen, {"handler"})["calls"], 1) << "the handler is outside";
    EXPECT_TRUE(seen["notes"].empty());
  });
}

TEST(Region, LeavingInTheWrongOrderIsMendedAndReported) {
  in_child([] {
    const hwprof_region outer = hwprof_enter("outer");
    const hwprof_region inner = hwprof_enter("inner");
    hwprof_leave(outer);
    hwprof_leave(inner);
    hwprof_leave(outer);
    hwprof_leave(0);
    const hwprof_region mine = hwprof_enter("mine");
    std::thread([=] { hwprof_leave(mine); }).join();
    hwprof_leave(mine);
    const Json seen = report();
    EXPECT_EQ(row(seen, {"outer"})["calls"], 1);
    EXPECT_EQ(row(seen, {"outer", "inner"})["calls"], 1);
    EXPECT_EQ(row(seen, {"mine"})["calls"], 1);
    EXPECT_EQ(seen["mishaps"]["left_by_outer"], 1);
    EXPECT_EQ(seen["mishaps"]["not_open"], 3);
  });
}

TEST(Region, AForkedChildStartsEmptyAndTheParentGoesOn) {
  in_child([] {
    ASSERT_EQ(start_regions("page-faults,task-clock"), "");
    {
      Region around("around");
      in_child([] {
        EXPECT_TRUE(report()["regions"].empty());
        {
          Region own("own");
          touch_pages(200);
        }
        const Json seen = report();
        EXPECT_EQ(seen["regions"].size(), 1u);
        EXPECT_EQ(seen["threads"]["total"], 1);
        if (is_counted(seen, "page-faults")) {
          EXPECT_GE(row(seen, {"own"})["events"]["page-faults"]["total"]["raw"], 200);
        }
      });
      touch_pages(200);
    }
    const Json seen = report();
    EXPECT_EQ(seen["regions"].size(), 1u);
    EXPECT_EQ(row(seen, {"around"})["calls"], 1);
    if (is_counted(seen, "page-faults")) {
      EXPECT_GE(row(seen, {"around"})["events"]["page-faults"]["total"]["raw"], 200);
    }
  });
}

// The objects of the parent's open regions are destroyed in the child, too.
TEST(Region, ARegionOfTheParentIsNoMishapInTheChild) {
  in_child([] {
    pid_t child = 0;
    {
      Region around("around");
      child = fork();
    }
    const Json seen = report();
    EXPECT_EQ(seen["mishaps"]["not_open"], 0);
    EXPECT_EQ(seen["regions"].size(), child == 0 ? 0u : 1u);
    if (child == 0) _exit(testing::Test::HasFailure() ? 1 : 0);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  });
}

// Forks while other threads enter, leave and end: nobody may wait for a lock that nobody holds.
TEST(Region, ForkingAmongBusyThreadsNeverHangs) {
  in_child([] {
    ASSERT_EQ(start_regions("page-faults"), "");
    std::atomic<bool> stop = false;
    std::thread spawner([&] {
      while (!stop) std::thread([] { pass("short"); }).join();
    });
    for (int i = 0; i < 50; ++i)
      in_child([] {
        alarm(60);
        pass("child");
        EXPECT_EQ(row(report(), {"child"})["calls"], 1);
        EXPECT_EQ(report()["regions"].size(), 1u);
      });
    stop = true;
    spawner.join();
  });
}

TEST(Region, AReportAmongBusyThreadsIsConsistent) {
  in_child([] {
    std::atomic<bool> stop = false;
    std::thread worker([&] {
      while (!stop) pass("leaf");
    });
    std::uint64_t last = 0;
    for (int i = 0; i < 3000; ++i) {
      const Json leaf = row(report(), {"leaf"});
      if (leaf.is_null()) continue;
      EXPECT_EQ(leaf["total_ns"]["raw"], leaf["self_ns"]["raw"]);
      EXPECT_GE(leaf["calls"].get<std::uint64_t>(), last);
      last = leaf["calls"];
    }
    stop = true;
    worker.join();
    EXPECT_GT(row(report(), {"leaf"})["calls"], 0);
  });
}

TEST(Region, DeclaredWorkAddsUpToTheRegionsAround) {
  in_child([] {
    {
      Region outer("outer");
      outer.declare({.flops = 5});
      Region inner("inner");
      inner.declare({.flops = 1000, .bytes = 64});
      inner.declare({.flops = 1000});
      outer.declare({.bytes = 1});
    }
    const Json seen = report();
    EXPECT_EQ(row(seen, {"outer", "inner"})["flops"], 2000);
    EXPECT_EQ(row(seen, {"outer"})["flops"], 2005);
    EXPECT_EQ(row(seen, {"outer"})["bytes"], 65);
    const Json outer = row(seen, {"outer"});
    EXPECT_NEAR(outer["gflops"], 2005 / outer["total_ns"]["corrected"].get<double>(), 1e-9);
  });
}

TEST(Region, AnyNameGivesValidJson) {
  in_child([] {
    { Region region("quote \" slash \\ line \n \x01 \xc3\xa4 \xff \xed\xa0\x80 \xf0\x9f\x98\x80"); }
    { Region region(""); }
    hwprof_leave(hwprof_enter(nullptr));
    const Json seen = report();
    EXPECT_EQ(seen["regions"][0]["path"][0],
              "quote \" slash \\ line \n \x01 \xc3\xa4 \xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd"
              "\xef\xbf\xbd \xf0\x9f\x98\x80");
    EXPECT_EQ(row(seen, {""})["calls"], 1);
    EXPECT_EQ(row(seen, {"(no name)"})["calls"], 1);
    EXPECT_THAT(regions_text(), HasSubstr("line ? ?"));
  });
}

}  // namespace
}  // namespace hwprof
