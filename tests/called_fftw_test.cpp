// Transforms of FFTW: what each plan was made for, how often it ran, and how many operations it is.
#include <gmock/gmock.h>

#include <cmath>
#include <string>

#include "tests/called_setup.h"

namespace hwprof::blas {
namespace {

using report::PreparedCall;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const PreparedCall* find_transform(const report::Called& called, const std::string& routine,
                                   const std::string& shape) {
  for (const PreparedCall& call : called.transforms)
    if (routine_of(call) == routine && call.shape == shape) return &call;
  return nullptr;
}

std::uint64_t executions_of(const report::Called& called, const std::string& routine,
                            const std::string& shape) {
  const PreparedCall* call = find_transform(called, routine, shape);
  return call != nullptr ? call->count : 0;
}

TEST(CalledFftw, TellsWhatEachPlanOfARealOneWasMadeFor) {
#ifndef FFTW_CALLS
  GTEST_SKIP() << "no FFTW 3 to compile a program with (scripts/setup test)";
#else
  const auto [called, status] = blas::watch(Way::kAudit, {FFTW_CALLS});
  ASSERT_EQ(status, 0);
  const PreparedCall* line = find_transform(called, "c2c forward", "1024");
  const PreparedCall* pages = find_transform(called, "r2c", "8 of 64x32");
  const PreparedCall* guru = find_transform(called, "c2c backward", "6 of 100");
  const PreparedCall* plane = find_transform(called, "c2c backward", "16x32");
  const PreparedCall* cosine = find_transform(called, "r2r", "500");
  ASSERT_TRUE(line != nullptr && pages != nullptr && guru != nullptr && plane != nullptr &&
              cosine != nullptr);
  EXPECT_EQ(line->count, 30U);
  EXPECT_EQ(line->type, "f64");
  EXPECT_DOUBLE_EQ(line->flops.value_or(0), 30 * 5.0 * 1024 * 10);
  EXPECT_GT(rate_of(*line).value_or(0), 0);
  EXPECT_THAT(line->library, HasSubstr("libfftw3.so"));
  EXPECT_EQ(pages->count, 20U);
  EXPECT_DOUBLE_EQ(pages->flops.value_or(0), 20 * 8 * 2.5 * 2048 * 11);
  EXPECT_EQ(executions_of(called, "c2r", "8x16x4"), 10U);
  EXPECT_EQ(guru->count, 5U);
  EXPECT_DOUBLE_EQ(guru->flops.value_or(0), 5 * 6 * 5.0 * 100 * std::log2(100));
  EXPECT_EQ(plane->count, 7U);
  EXPECT_EQ(plane->type, "f32");
  EXPECT_EQ(cosine->count, 3U);
  EXPECT_FALSE(cosine->flops);
  // Planning takes time of its own, and computes nothing.
  const PreparedCall* planning = find_transform(called, "planning c2c forward", "1024");
  ASSERT_NE(planning, nullptr);
  EXPECT_EQ(planning->count, 1U);
  EXPECT_TRUE(planning->time_ns.has_value());
  EXPECT_FALSE(planning->flops);
  // They are no calls of a BLAS.
  EXPECT_THAT(called.calls, IsEmpty());
  EXPECT_THAT(called.spans, IsEmpty());
#endif
}

TEST(CalledFftw, TellsNoShapeOfAPlanThatTellsNone) {
  const auto [called, status] = blas::watch(Way::kAudit, {ODD_FFTW_CALLS});
  ASSERT_EQ(status, 0);
  const PreparedCall* unread = find_transform(called, "c2c forward", "");
  ASSERT_NE(unread, nullptr);
  EXPECT_EQ(unread->count, 5U);
  EXPECT_FALSE(unread->flops);
  // A later plan at the same place is the one that runs.
  EXPECT_EQ(executions_of(called, "c2c forward", "12x8"), 5U);
  EXPECT_EQ(executions_of(called, "c2c forward", "12"), 7U);
  EXPECT_EQ(executions_of(called, "c2c backward", "3 of 12"), 9U);
  EXPECT_EQ(executions_of(called, "c2c backward", "10 of 6"), 4U);
}

TEST(CalledFftw, CountsPlansThatItDoesNotKnow) {
  const auto [called, status] = blas::watch(Way::kAudit, {ODD_FFTW_CALLS});
  ASSERT_EQ(status, 0);
  const PreparedCall* unknown = find_transform(called, "", "");
  ASSERT_NE(unknown, nullptr);
  const std::uint64_t known = executions_of(called, "c2c forward", "16");
  EXPECT_EQ(unknown->count + known, 2U + 6000U);
  EXPECT_GT(known, 2000U);
  EXPECT_GT(unknown->count, 2U);
  EXPECT_THAT(unknown->reason, HasSubstr("was not seen"));
}

}  // namespace
}  // namespace hwprof::blas
