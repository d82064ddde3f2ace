#include "counters/perf/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hwprof {
namespace {

using testing::HasSubstr;

EventCount counted(std::string name, double value) {
  EventCount count;
  count.name = std::move(name);
  count.value = value;
  count.status = CountStatus::kOk;
  return count;
}

TEST(Metrics, IpcIsAbsentWhenCyclesAreZero) {
  EXPECT_EQ(ipc(100, 0), std::nullopt);
  EXPECT_EQ(ipc(std::nullopt, 50), std::nullopt);
  EXPECT_EQ(ipc(100, std::nullopt), std::nullopt);
  EXPECT_EQ(ipc(100, 200), 0.5);
}

TEST(Metrics, RatesNeedBothInputs) {
  EXPECT_EQ(gflops(4e9, 2), 2.0);
  EXPECT_EQ(gflops(4e9, 0), std::nullopt);
  EXPECT_EQ(gflops(std::nullopt, 1), std::nullopt);
  EXPECT_EQ(ipc(5, 20), 0.25);
  EXPECT_EQ(ipc(0, 0), std::nullopt);
}

TEST(Metrics, ValueOfAnEventThatWasNotCountedIsAbsent) {
  std::vector<EventCount> counts = {counted("cycles", 7)};
  counts.push_back({});
  counts.back().name = "flops";
  EXPECT_EQ(value_of(counts, "cycles"), 7.0);
  EXPECT_EQ(value_of(counts, "flops"), std::nullopt);
  EXPECT_EQ(value_of(counts, "nosuch"), std::nullopt);
}

TEST(Metrics, IpcAboveTheMachinesWidthIsImplausible) {
  const CpuId zen2{Vendor::kAmd, 0x17, 0x31, 0};
  const Limits limits = limits_of(find_core(zen2, "cpu"));
  std::vector<EventCount> counts = {counted("cycles", 1000), counted("instructions", 928000)};
  flag_implausible(counts, limits);  // what PAPI users saw on Zen 2
  EXPECT_THAT(counts[1].implausible, HasSubstr("928"));
  EXPECT_EQ(counts[0].implausible, "");
  counts[1].value = 4000;
  flag_implausible(counts, limits);
  EXPECT_EQ(counts[1].implausible, "") << "the flag goes when the value is fine";
}

TEST(Metrics, AnUnknownCoreStillHasALimit) {
  std::vector<EventCount> counts = {counted("cycles", 1), counted("instructions", 33)};
  flag_implausible(counts, limits_of(nullptr));
  EXPECT_NE(counts[1].implausible, "");
}

TEST(Metrics, MoreMissesThanReferencesAreImplausible) {
  std::vector<EventCount> counts = {counted("llc-ref", 100), counted("llc-miss", 150)};
  flag_implausible(counts, {});
  EXPECT_THAT(counts[1].implausible, HasSubstr("llc-miss exceeds llc-ref"));
  counts[1].value = 101;
  flag_implausible(counts, {});
  EXPECT_EQ(counts[1].implausible, "") << "two passes may differ a little";
}

TEST(Metrics, MissesWithoutReferencesPass) {
  std::vector<EventCount> counts = {counted("llc-miss", 150), counted("llc-ref", 0)};
  counts[1].value.reset();
  flag_implausible(counts, {});
  EXPECT_EQ(counts[0].implausible, "");
}

TEST(Metrics, AFlopRateAboveThePeakIsImplausible) {
  std::vector<EventCount> counts = {counted("flops", 3e9)};
  Limits limits;
  flag_implausible(counts, limits);
  EXPECT_EQ(counts[0].implausible, "") << "no peak, no gate";
  limits.peak_gflops = 2;
  limits.seconds = 1;
  flag_implausible(counts, limits);
  EXPECT_THAT(counts[0].implausible, HasSubstr("peak"));
  limits.peak_gflops = 2.9;
  flag_implausible(counts, limits);
  EXPECT_EQ(counts[0].implausible, "") << "within the drift of the clock";
}

}  // namespace
}  // namespace hwprof
