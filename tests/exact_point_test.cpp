#include "src/model/exact_point.h"

#include <gtest/gtest.h>

namespace hwprof {
namespace {

model::Row counted(std::uint64_t flops) {
  model::Row row;
  row.time_ns = model::TimeNs{.median = 200, .min = 190, .mean = 210};
  row.cpu_time_ns = model::CpuTimeNs{.median = 100, .min = 95};
  model::ExactCount count;
  count.flops = flops;
  count.bytes_loaded = 300;
  count.bytes_stored = 100;
  row.exact = model::ExactWork{.count = count, .reason = "", .to_model = {}, .excess = {}};
  return row;
}

TEST(ExactPoint, IsFlopOverBytesOfInstructionsAndOverTheTimeThatRatesAreOf) {
  model::Row row = counted(1000);
  EXPECT_DOUBLE_EQ(*model::exact_intensity(row), 2.5);
  EXPECT_DOUBLE_EQ(*model::exact_gflops(row), 10);
  row.cpu_time_ns.reset();  // of several threads the time that passed
  EXPECT_DOUBLE_EQ(*model::exact_gflops(row), 5);
  EXPECT_EQ(model::exact_gflops_reason(row), "");
}

TEST(ExactPoint, IsAbsentWithItsReasonWhereOneOfTheTwoIsNotKnown) {
  model::Row row = counted(1000);
  row.time_ns.reset();
  row.cpu_time_ns.reset();
  row.reason = "interrupted";
  EXPECT_TRUE(model::exact_intensity(row));
  EXPECT_FALSE(model::exact_gflops(row));
  EXPECT_EQ(model::exact_gflops_reason(row), "interrupted");

  row = counted(1000);
  row.exact->count.reset();
  row.exact->reason = "a thread was started";
  EXPECT_FALSE(model::exact_intensity(row));
  EXPECT_FALSE(model::exact_gflops(row));
  EXPECT_EQ(model::exact_gflops_reason(row), "a thread was started");
}

TEST(ExactPoint, IsAbsentWithoutFlopAndWithoutAReasonWhereNobodyAskedForIt) {
  model::Row row = counted(0);
  EXPECT_FALSE(model::exact_intensity(row));
  EXPECT_FALSE(model::exact_gflops(row));
  EXPECT_EQ(model::exact_gflops_reason(row), "it executed no FLOP");
  row.exact.reset();
  EXPECT_FALSE(model::exact_gflops(row));
  EXPECT_EQ(model::exact_gflops_reason(row), "");
}

}  // namespace
}  // namespace hwprof
