// Calls within calls, lost returns, and what becomes of them in the report. No kernel needed.
#include "src/observe/calls/call_tally.h"

#include <gtest/gtest.h>

#include "src/observe/calls/tracefs.h"

namespace hwprof::observe {
namespace {

constexpr std::uint64_t kProgram = 0x400000, kLibrary = 0x7f0000000000;

class Tally : public ::testing::Test {
 protected:
  Tally() {
    Routine routine;
    find_routine("cblas_sgemm", routine);
    outer_ = tally_.watch({"/lib/front.so", {"cblas_sgemm", 0x1000, 0x100, routine}});
    find_routine("sgemm_", routine);
    inner_ = tally_.watch({"/lib/back.so", {"sgemm_", 0x2000, 0x100, routine}});
    map("/bin/program", kProgram);
    map("/lib/front.so", kLibrary);
  }
  void map(const char* path, std::uint64_t start) {
    tally_.apply({0, Mapped{1, start, 0x10000, 0, {}, path}});
  }
  void enter(std::uint32_t id, std::uint64_t return_address, std::uint64_t stack_pointer) {
    ProbeHit record;
    record.time_ns = ++clock_;
    record.pid = record.tid = 1;
    record.id = id;
    record.return_address = return_address;
    record.stack_pointer = stack_pointer;
    record.layout = 101;
    record.transpose_a = record.transpose_b = 'N';
    record.m = record.n = record.k = 2;
    tally_.add(record);
  }
  void leave(std::uint32_t id) {
    ProbeHit record;
    record.leaves = true;
    record.time_ns = clock_ += 10;
    record.pid = record.tid = 1;
    record.id = id;
    tally_.add(record);
  }

  CallTally tally_;
  std::uint32_t outer_ = 0, inner_ = 0;
  std::uint64_t clock_ = 0;
};

TEST_F(Tally, OfACallWithinACallIsTheOuterOneServedByTheInnerLibrary) {
  for (int i = 0; i < 3; ++i) {
    enter(outer_, kProgram + 5, 0x9000);
    enter(inner_, kLibrary + 0x1010, 0x8000);
    leave(inner_);
    leave(outer_);
  }
  const auto sites = tally_.sites();
  ASSERT_EQ(sites.size(), 1U);
  EXPECT_EQ(sites[0].symbol, "cblas_sgemm");
  EXPECT_EQ(sites[0].library, "/lib/back.so");
  EXPECT_EQ(sites[0].caller, "/bin/program");
  EXPECT_EQ(sites[0].count, 3U);
  EXPECT_EQ(sites[0].flops, 3 * 16.0);
  EXPECT_EQ(sites[0].time_ns, 3 * 21.0);
}

TEST_F(Tally, OfAFileWithTwoNamesIsThatOfOneFileAsItIsMapped) {
  tally_.also_named("/lib/front.so", "/mnt/front.so");
  tally_.also_named("/lib/back.so", "/mnt/back.so");
  constexpr std::uint64_t kSecond = kLibrary + 0x100000;
  map("/mnt/front.so", kSecond);
  map("/mnt/back.so", kLibrary + 0x200000);
  tally_.stop_timing();  // an address alone says that a call is within another one
  for (const std::uint64_t front : {kLibrary, kSecond}) {
    enter(outer_, front + 0x5000, 0x9000);
    enter(inner_, front + 0x1010, 0x8000);
  }
  const auto sites = tally_.sites();
  ASSERT_EQ(sites.size(), 1U);
  EXPECT_EQ(sites[0].count, 2U);
  EXPECT_EQ(sites[0].library, "/mnt/back.so");
  EXPECT_EQ(sites[0].caller, "/lib/front.so");
}

TEST_F(Tally, AddsUpTheWallTimeInsideCalls) {
  EXPECT_FALSE(tally_.wall_ns());
  enter(inner_, kProgram + 5, 0x9000);
  leave(inner_);
  clock_ += 1000;
  enter(inner_, kProgram + 5, 0x9000);
  leave(inner_);
  tally_.sites();
  EXPECT_EQ(tally_.wall_ns(), 20);
  enter(inner_, kProgram + 5, 0x9000);  // never returns
  tally_.sites();
  EXPECT_FALSE(tally_.wall_ns());
}

TEST(UnionOfTimes, CountsWhatOverlapsOnce) {
  UnionOfTimes all;
  all.add(10, 20);
  all.add(15, 30);  // goes on
  all.add(40, 50);
  all.add(42, 55);
  all.add(0, 60);  // around them all
  EXPECT_EQ(all.sum(), 60);
  for (std::uint64_t i = 1; i <= 10'000; ++i) all.add(100 * i, 100 * i + 10);
  EXPECT_EQ(all.sum(), 100'060) << "old ones are not forgotten";
}

TEST_F(Tally, KnowsACallWithinACallWithoutReturns) {
  tally_.stop_timing();
  enter(outer_, kProgram + 5, 0x9000);
  enter(inner_, kLibrary + 0x1100, 0x8000);  // called by the last instruction of the outer one
  enter(inner_, kProgram + 9, 0x8000);       // deeper than the first, but not from it
  const auto sites = tally_.sites();
  ASSERT_EQ(sites.size(), 2U);
  EXPECT_EQ(sites[0].count, 1U);
  EXPECT_EQ(sites[1].count, 1U);
  EXPECT_FALSE(sites[0].time_ns);
}

TEST_F(Tally, KnowsAJumpIntoTheInnerCall) {
  tally_.stop_timing();
  enter(outer_, kProgram + 5, 0x9000);
  enter(inner_, kProgram + 5, 0x9000);
  const auto sites = tally_.sites();
  ASSERT_EQ(sites.size(), 1U);
  EXPECT_EQ(sites[0].symbol, "cblas_sgemm");
}

TEST_F(Tally, CountsAJumpAnewWhenItBeginsAnew) {
  tally_.stop_timing();
  for (int i = 0; i < 5; ++i) {
    enter(outer_, kProgram + 5, 0x9000);
    enter(inner_, kProgram + 5, 0x9000);
  }
  const auto sites = tally_.sites();
  ASSERT_EQ(sites.size(), 1U);
  EXPECT_EQ(sites[0].symbol, "cblas_sgemm");
  EXPECT_EQ(sites[0].library, "/lib/back.so");
  EXPECT_EQ(sites[0].count, 5U);
}

TEST_F(Tally, CountsRoutinesThatAreCalledFromOnePlace) {
  Routine routine;
  find_routine("sgemv_", routine);
  const auto other = tally_.watch({"/lib/back.so", {"sgemv_", 0x3000, 0x100, routine}});
  // As foreign functions of an interpreter, first with returns and then without.
  for (int i = 0; i < 10; ++i) {
    if (i == 5) tally_.stop_timing();
    enter(inner_, kProgram + 5, 0x9000);
    if (i < 5) leave(inner_);
    enter(other, kProgram + 5, 0x9000);
  }
  const auto sites = tally_.sites();
  ASSERT_EQ(sites.size(), 2U);
  for (const auto& site : sites) EXPECT_EQ(site.count, 10U) << site.symbol;
}

TEST_F(Tally, TakesNoCallForAJumpThatTheCodeHasNot) {
  Routine routine;
  find_routine("ddot_", routine);
  const auto watch = [&](const char* path, std::uint64_t offset, Jumps jumps) {
    return tally_.watch({path, {"ddot_", offset, 0x100, routine, jumps}});
  };
  struct Case {
    Jumps jumps;
    const char* path;
    std::size_t sites;
  };
  std::uint64_t offset = 0x4000;
  for (const Case& one : {Case{{false, false}, "/lib/a.so", 2}, Case{{false, true}, "/lib/b.so", 2},
                          Case{{true, false}, "/lib/c.so", 1}}) {
    const std::size_t before = tally_.sites().size(), said = tally_.notes().size();
    const auto first = watch(one.path, offset += 0x200, one.jumps);
    const auto second = watch(one.path, offset += 0x200, {false, false});
    for (int i = 0; i < 5; ++i) {
      enter(first, kProgram + 5, 0x9000);
      enter(second, kProgram + 5, 0x9000);
    }
    EXPECT_EQ(tally_.sites().size(), before + one.sites) << one.path;
    EXPECT_EQ(tally_.notes().size() - said, one.sites == 1 ? 1U : 0U) << one.path;
  }
}

TEST_F(Tally, KnowsAJumpWhoseReturnIsWatched) {
  map("[uprobes]", 0x7ffff000);
  enter(outer_, kProgram + 5, 0x9000);
  enter(inner_, 0x7ffff000, 0x9000);  // the kernel has its own address where the outer one returns
  leave(inner_);
  leave(outer_);
  const auto sites = tally_.sites();
  ASSERT_EQ(sites.size(), 1U);
  EXPECT_EQ(sites[0].symbol, "cblas_sgemm");
  EXPECT_EQ(sites[0].time_ns, 21.0);
}

TEST_F(Tally, CountsCallsAfterOneThatWasLeftByALongjmp) {
  enter(inner_, kProgram + 5, 0x9000);  // never returns
  for (int i = 0; i < 5; ++i) {
    enter(inner_, kProgram + 9, 0x8000);
    leave(inner_);
  }
  const auto sites = tally_.sites();
  ASSERT_EQ(sites.size(), 1U);
  EXPECT_EQ(sites[0].count, 6U);
}

TEST_F(Tally, CountsCallsWhoseReturnsWereLost) {
  for (int i = 0; i < 5; ++i) enter(inner_, kProgram + 5, 0x9000);
  leave(inner_);
  const auto sites = tally_.sites();
  ASSERT_EQ(sites.size(), 1U);
  EXPECT_EQ(sites[0].count, 5U);
  EXPECT_FALSE(sites[0].time_ns) << "only one of them has a time";
}

TEST_F(Tally, OfASampleIsScaledToExactlyAllCalls) {
  ProbeHit record;
  record.pid = record.tid = 1;
  record.id = inner_;
  record.return_address = kProgram + 5;
  record.transpose_a = record.transpose_b = 'N';
  for (int i = 0; i < 7; ++i) {
    record.m = record.n = record.k = i < 4 ? 2 : 3;
    tally_.add_sample(record);
  }
  EXPECT_TRUE(tally_.scale_samples(1000));
  const auto sites = tally_.sites();
  ASSERT_EQ(sites.size(), 1U);
  EXPECT_EQ(sites[0].count, 1000U);
  ASSERT_EQ(sites[0].shapes.size(), 2U);
  EXPECT_EQ(sites[0].shapes[0].count, 429U) << "of 3 x 3 x 3: 1000 * 3 / 7, rounded up";
  EXPECT_EQ(sites[0].shapes[1].count, 571U);
}

TEST_F(Tally, TakesASampledCallForWhatItsPlaceWasBefore) {
  tally_.stop_timing();
  enter(outer_, kProgram + 5, 0x9000);
  enter(inner_, kProgram + 5, 0x9000);  // a jump: no address tells that it is an inner call
  enter(outer_, kProgram + 5, 0x9000);  // books the one before
  ProbeHit record;
  record.pid = record.tid = 1;
  record.return_address = kProgram + 5;
  for (const std::uint32_t id : {outer_, inner_}) {
    record.id = id;
    tally_.add_sample(record);
  }
  EXPECT_TRUE(tally_.nested_samples());
  EXPECT_TRUE(tally_.scale_samples(100));
  for (const auto& site : tally_.sites()) EXPECT_EQ(site.symbol, "cblas_sgemm");
}

TEST_F(Tally, SaysThatNoSampleStandsForTheCalls) {
  EXPECT_TRUE(tally_.scale_samples(0));
  EXPECT_FALSE(tally_.scale_samples(5));
}

TEST(ShapesOfASite, ThatFindNoRoomAreCounted) {
  Routine routine;
  ASSERT_TRUE(find_routine("dgemm_", routine));
  ShapeCounts shapes(routine);
  for (std::uint64_t m = 1; m <= kMostShapes + 10; ++m) shapes.add({m, 1, 1});
  report::CallSite site;
  shapes.write(site);
  EXPECT_EQ(site.count, kMostShapes + 10);
  EXPECT_EQ(site.shapes.size(), kMostShapes);
  EXPECT_EQ(site.calls_of_other_shapes, 10U);
  EXPECT_EQ(site.shapes[0].m, kMostShapes) << "most FLOP first";
  EXPECT_EQ(site.flops, static_cast<double>((kMostShapes + 10) * (kMostShapes + 11)));
  shapes.add_others();
  report::CallSite unknown;
  shapes.write(unknown);
  EXPECT_FALSE(unknown.flops);
}

TEST(Routines, AreKnownByAllTheirNames) {
  Routine routine;
  for (const char* name : {"sgemm_", "dgemm_64_", "cgemm64_", "scipy_zgemm_64_", "sbgemm_"}) {
    ASSERT_TRUE(find_routine(name, routine)) << name;
    EXPECT_TRUE(routine.by_reference);
    EXPECT_EQ(routine.m, 2) << name;
  }
  for (const char* name : {"cblas_sgemm", "cblas_dgemm64_", "scipy_cblas_zgemm3m_64"}) {
    ASSERT_TRUE(find_routine(name, routine)) << name;
    EXPECT_FALSE(routine.by_reference);
    EXPECT_EQ(routine.m, 3) << name;
  }
  ASSERT_TRUE(find_routine("dgemm_64_", routine));
  EXPECT_TRUE(routine.wide);
  ASSERT_TRUE(find_routine("dnnl_primitive_execute", routine));
  EXPECT_FALSE(routine.blas);
  for (const char* name : {"", "s", "sgemm", "sgemm__", "xgemm_", "sgemm_kernel", "cblas_",
                           "sger_x", "cblas_sgemm_", "igemm_", "sgeru_", "ssyrkx_"}) {
    EXPECT_FALSE(find_routine(name, routine)) << name;
  }
}

TEST(DeadProbes, AreThoseOfThisProgramWhoseProcessIsGone) {
  const std::string own = new_group_name();
  ASSERT_FALSE(own.empty());
  std::string dead = own;  // our own number, but started at another time
  const auto started = dead.find('_', sizeof("hwprof_") - 1) + 1;
  dead.insert(started, "9");
  const std::string list = "p:" + own + "/entry0 /a:0x1\nr:" + dead + "/leave0 /a:0x1\nr:" + dead +
                           "/leave0 /b:0x1\np:hwprof_x/y /a:0x1\np:probe_libc/malloc /a:0x1\n";
  EXPECT_EQ(dead_events(list), std::vector<std::string>{dead + "/leave0"});
}

}  // namespace
}  // namespace hwprof::observe
