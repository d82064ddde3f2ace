// Metrics as node_exporter's textfile collector takes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/report/data/fleet_writers.h"

namespace hwprof::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Prometheus, AWholeCheckIsThisText) {
  Check check;
  check.version = "0.1.0";
  check.outcome = Outcome::kFail;
  check.machine.cpu_name = "CPU \"A\\B\"";
  check.blas.verdict = VerdictKind::kUnoptimised;
  check.blas.provider = Provider::kOpenBlas;
  check.blas.version = "0.3.21";
  check.blas.core = "Prescott";
  check.blas.factor = 4.5;
  check.blas.results.right = true;
  check.gflops = 16.5;
  check.peak_gflops = 250;
  check.peak_fraction = 0.066;
  check.busy_fraction = 0.25;
  check.elapsed_s = 0.75;
  check.ended_utc = "2026-11-27T04:00:00Z";
  EXPECT_EQ(
      check_prometheus(check),
      R"(# HELP hwprof_check_outcome 1 for the outcome of the last check of the BLAS that programs get, 0 for others.
# TYPE hwprof_check_outcome gauge
hwprof_check_outcome{outcome="pass"} 0
hwprof_check_outcome{outcome="fail"} 1
hwprof_check_outcome{outcome="unknown"} 0
# HELP hwprof_check_info What the last check found, in its labels.
# TYPE hwprof_check_info gauge
hwprof_check_info{verdict="unoptimised",provider="openblas",library_version="0.3.21",core="Prescott",cpu="CPU \"A\\B\"",hwprof_version="0.1.0"} 1
# HELP hwprof_check_sgemm_flops_per_second Rate of sgemm on one core, as programs get it.
# TYPE hwprof_check_sgemm_flops_per_second gauge
hwprof_check_sgemm_flops_per_second 16500000000
# HELP hwprof_check_peak_flops_per_second FMA peak of that core, measured beside it.
# TYPE hwprof_check_peak_flops_per_second gauge
hwprof_check_peak_flops_per_second 250000000000
# HELP hwprof_check_peak_ratio Rate of sgemm over the FMA peak.
# TYPE hwprof_check_peak_ratio gauge
hwprof_check_peak_ratio 0.066
# HELP hwprof_check_possible_speedup_ratio How many times faster sgemm could be on this host.
# TYPE hwprof_check_possible_speedup_ratio gauge
hwprof_check_possible_speedup_ratio 4.5
# HELP hwprof_check_results_right Whether products are what they should be.
# TYPE hwprof_check_results_right gauge
hwprof_check_results_right 1
# HELP hwprof_check_busy_ratio CPU time of other programs meanwhile, of all CPUs that the check may use.
# TYPE hwprof_check_busy_ratio gauge
hwprof_check_busy_ratio 0.25
# HELP hwprof_check_duration_seconds How long the last check took.
# TYPE hwprof_check_duration_seconds gauge
hwprof_check_duration_seconds 0.75
# HELP hwprof_check_completion_time_seconds When the last check ended, in seconds since 1970.
# TYPE hwprof_check_completion_time_seconds gauge
hwprof_check_completion_time_seconds 1795752000
)");
}

TEST(Prometheus, WhatIsNotKnownHasNoMetric) {
  const std::string text = check_prometheus({});
  for (const char* absent : {"flops", "peak_ratio", "speedup", "right", "busy", "completion"})
    EXPECT_THAT(text, Not(HasSubstr(absent)));
  EXPECT_THAT(text, HasSubstr("hwprof_check_outcome{outcome=\"unknown\"} 1\n"));
}

TEST(Prometheus, ALabelCannotEndItsLine) {
  Check check;
  check.blas.core = "a\"} 1\nfoo 2\n\x1b[31m";
  const std::string text = check_prometheus(check);
  EXPECT_THAT(text, Not(HasSubstr("\nfoo")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr(R"(core="a\"} 1\\x0afoo)"));
}

}  // namespace
}  // namespace hwprof::report
