// The command's own way from tasks to a verdict, with work whose growth is known.
#include "src/commands/sweep/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace hwprof {
namespace {

using ::testing::HasSubstr;

volatile std::uint64_t sink = 0;

// `steps` dependent additions: time that no vector unit shortens.
void work(std::uint64_t steps) {
  for (std::uint64_t i = 0; i < steps; ++i) sink = sink + i;
}

// A task of size n whose model costs n, and whose run takes `steps`.
Task task_of(std::uint64_t n, std::uint64_t steps) {
  Task task;
  task.op = "made-up";
  task.variant = "known";
  task.shape = {{"n", n}};
  task.cost = {.flops = 0,
               .comparisons = static_cast<double>(n),
               .bytes = 8,
               .working_set_bytes = 8,
               .cost_units = static_cast<double>(n)};
  task.run = [steps] { work(steps); };
  task.check = [] { return 0.0; };
  return task;
}

report::Sweep sweep_of(std::uint64_t (*steps)(std::uint64_t n)) {
  SweepOptions options;
  options.measure.machine.threads = {1};
  options.measure.machine.ladder = false;
  options.measure.quiet = true;
  options.measure.budget.seconds = 3;
  SweepPlan plan{.op = "made-up", .variant = "known"};
  plan.ranges = {{"n", 64, 1024}};
  std::vector<Task> tasks;
  for (const std::uint64_t n : geometric_steps(64, 1024, 5)) {
    plan.at.push_back({n});
    tasks.push_back(task_of(n, steps(n)));
  }
  Result<ProfileSession> session = ProfileSession::begin(options.measure);
  EXPECT_TRUE(session) << session.error().what;
  EXPECT_TRUE(session->set_up());
  const Result<report::Sweep> sweep = measure_sweep(*session, options, plan, tasks);
  EXPECT_TRUE(sweep) << sweep.error().what;
  return *sweep;
}

// Ten times more than any noise: a wrong power is off by 1, the tolerance is 0.05.
TEST(Sweep, AnOperationMadeQuadraticOnPurposeDoesNotAgree) {
  const report::Sweep sweep = sweep_of([](std::uint64_t n) { return n * n / 8; });
  EXPECT_EQ(sweep.agrees, false) << sweep.text;
  ASSERT_FALSE(sweep.laws.empty());
  EXPECT_EQ(sweep.laws[0].quantity, "time");
  EXPECT_GT(*sweep.laws[0].exponent, 1.5);
  EXPECT_NEAR(*sweep.laws[0].model_exponent, 1, 1e-9);
  EXPECT_THAT(sweep.text, HasSubstr("does not agree"));
}

// A busy machine may leave it open, but never makes it quadratic.
TEST(Sweep, TheSameWorkMadeLinearIsNotQuadratic) {
  const report::Sweep sweep = sweep_of([](std::uint64_t n) { return 64 * n; });
  ASSERT_TRUE(sweep.laws[0].exponent);
  EXPECT_NEAR(*sweep.laws[0].exponent, 1, 0.4) << sweep.text;
  EXPECT_EQ(sweep.points.size(), 5u);
}

TEST(Sweep, FlopThatNoModelHasAreAbsentWithTheReason) {
  const report::Sweep sweep = sweep_of([](std::uint64_t n) { return n; });
  ASSERT_EQ(sweep.laws.size(), 2u);
  EXPECT_EQ(sweep.laws[1].quantity, "flop");
  EXPECT_FALSE(sweep.laws[1].exponent);
  EXPECT_THAT(sweep.laws[1].reason, HasSubstr("comparisons"));
}

}  // namespace
}  // namespace hwprof
