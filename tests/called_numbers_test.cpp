// Denormal numbers, NaN and infinity in calls that the audit library sees.
#include <gmock/gmock.h>

#include <cmath>
#include <memory>

#include "src/observe/audit/float_flags.h"
#include "src/observe/calls/audited_calls.h"
#include "tests/called_setup.h"

namespace hwprof::blas {
namespace {

using observe::audit::kTellsFloatFlags;

class CalledNumbers : public ::testing::Test {
 protected:
  static report::Called watch(const char* kind) {
    const auto [called, status] = blas::watch(Way::kAudit, {FLOAT_CALLS, kind});
    EXPECT_EQ(status, 0) << kind;
    return called;
  }
};

TEST_F(CalledNumbers, CountsCallsByTheFlagsOfTheirArithmetic) {
  const auto sgemm = of_symbol(watch("numbers"), "sgemm_");
  ASSERT_EQ(sgemm.size(), 1U);
  const report::CallNumbers& numbers = sgemm[0].numbers;
  if (!kTellsFloatFlags) {
    EXPECT_FALSE(numbers.flag_calls);
    EXPECT_FALSE(numbers.denormal_calls);
    return;
  }
  EXPECT_EQ(numbers.flag_calls, 11U);
  EXPECT_EQ(numbers.denormal_calls, 4U);
  EXPECT_EQ(numbers.invalid_calls, 2U);
  EXPECT_EQ(numbers.flushed_calls, 0U);
  EXPECT_GT(numbers.denormal_time_ns.value_or(0), 0);
  EXPECT_FALSE(numbers.denormal_slowdown) << "4 calls are no mean";
  ASSERT_EQ(sgemm[0].shapes.size(), 1U);
  EXPECT_EQ(sgemm[0].shapes[0].numbers.denormal_calls, 4U);
}

TEST_F(CalledNumbers, LeaveTheProgramTheFlagsThatItHasAlone) { watch("flags"); }

TEST_F(CalledNumbers, LeaveAProgramAloneThatHasExceptionsTrap) {
  const auto sgemm = of_symbol(watch("traps"), "sgemm_");
  ASSERT_EQ(sgemm.size(), 1U);
  EXPECT_GE(sgemm[0].count, 1U);
  EXPECT_EQ(sgemm[0].numbers.flag_calls.value_or(1), 1U);
}

TEST_F(CalledNumbers, MeetNoDenormalOnesThatAreTakenForZero) {
  const auto sgemm = of_symbol(watch("flush"), "sgemm_");
  if (!kTellsFloatFlags) GTEST_SKIP() << "no flags on this architecture";
  ASSERT_EQ(sgemm.size(), 1U);
  EXPECT_EQ(sgemm[0].numbers.flushed_calls, 7U);
  EXPECT_EQ(sgemm[0].numbers.denormal_calls, 0U);
}

TEST_F(CalledNumbers, AreFoundInOperandsAndNotBesideThem) {
  const report::Called called = watch("operands");
  const auto numbers_of = [&](const char* symbol) {
    const auto sites = of_symbol(called, symbol);
    return sites.size() == 1 ? sites[0].numbers : report::CallNumbers{};
  };
  const report::CallNumbers dgemm = numbers_of("dgemm_"), dgemv = numbers_of("dgemv_"),
                            zgemm = numbers_of("zgemm_"), by_rows = numbers_of("cblas_dgemm"),
                            solved = numbers_of("cblas_dtrsm");
  EXPECT_EQ(dgemm.sampled_operands, 9U);  // of the one that is refused, the other one
  EXPECT_EQ(dgemm.nan_operands, 1U);
  EXPECT_EQ(dgemm.infinite_operands, 1U);
  EXPECT_EQ(dgemm.denormal_operands, 1U);
  EXPECT_EQ(dgemv.sampled_operands, 2U);
  EXPECT_EQ(dgemv.nan_operands, 0U);
  EXPECT_EQ(zgemm.sampled_operands, 2U);
  EXPECT_EQ(zgemm.nan_operands, 1U);
  EXPECT_EQ(by_rows.sampled_operands, 2U);
  EXPECT_EQ(by_rows.nan_operands, 1U);
  EXPECT_EQ(solved.sampled_operands, 1U);  // the triangle need not be whole
  EXPECT_EQ(solved.nan_operands, 0U);
  const auto first = of_symbol(called, "dgemm_"), later = of_symbol(called, "zgemm_");
  ASSERT_FALSE(first.empty() || later.empty());
  EXPECT_TRUE(first[0].nan_first);
  EXPECT_FALSE(later[0].nan_first);
}

TEST_F(CalledNumbers, AreNotLookedForWhereNothingCanBeRead) {
  const auto dgemm = of_symbol(watch("memory"), "dgemm_");
  ASSERT_EQ(dgemm.size(), 1U);
  EXPECT_EQ(dgemm[0].count, 203U);
  EXPECT_EQ(dgemm[0].numbers.sampled_operands, 3U);
  EXPECT_EQ(dgemm[0].numbers.nan_operands, 2U);
}

// What the library would have written after so many calls.
TEST(NumbersOfATable, GiveTheGeometricMeanOfEnoughCalls) {
  const auto table = std::make_unique<observe::audit::Table>();
  table->files[0].state = table->sites[0].state = observe::audit::kReady;
  table->files[0].path[0] = 'x';
  std::copy_n("sgemm_", 7, table->sites[0].symbol);
  observe::audit::CountedShape& slot = table->sites[0].shards[1].shapes[5];
  slot.state = observe::audit::kReady;
  slot.shape = {8, 8, 8, 0};
  slot.count = slot.returned = 1020;
  slot.met.denormal = 20;
  slot.met.denormal_ticks = 84'000;
  for (int i = 0; i < 1000; ++i) slot.met.usual_log_ticks += observe::audit::log_of(300);
  // One that was interrupted.
  for (int i = 0; i < 19; ++i) slot.met.denormal_log_ticks += observe::audit::log_of(4200);
  slot.met.denormal_log_ticks += observe::audit::log_of(4'200'000);
  const auto site_of = [&] {
    const auto found = observe::read_audited_calls(*table, {}, {.ns_per_tick = 0.4});
    return found.sites.empty() ? report::CallSite{} : found.sites[0];
  };
  EXPECT_EQ(site_of().numbers.flag_calls.value_or(1020), 1020U);
  EXPECT_NEAR(site_of().numbers.denormal_slowdown.value_or(0), 14 * std::pow(1000, 1 / 20.0), 0.3);
  slot.met.denormal = 19;
  EXPECT_FALSE(site_of().numbers.denormal_slowdown);
  slot.met.denormal = ~0UL;  // whatever a program writes there
  EXPECT_LE(site_of().numbers.denormal_calls.value_or(0), 1020U);
}

TEST(NumbersOfATable, LogarithmsAreWithinOnePercent) {
  for (const unsigned long value : {1UL, 2UL, 3UL, 5UL, 47UL, 300UL, 1536UL, 123'456'789UL}) {
    const double exact = 1024 * std::log2(static_cast<double>(value));
    EXPECT_NEAR(static_cast<double>(observe::audit::log_of(value)), exact, 10) << value;
  }
  EXPECT_EQ(observe::audit::log_of(0), 0U);
}

}  // namespace
}  // namespace hwprof::blas
