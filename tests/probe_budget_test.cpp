#include <gtest/gtest.h>

#include <chrono>

#include "src/observe/calls/probes.h"

namespace hwprof::observe {
namespace {

TEST(ReturnProbes, AreLeftOutWhereTheyKill) {
#if defined(__x86_64__)
  EXPECT_TRUE(return_probes_are_safe("6.1.0-13-amd64"));
  EXPECT_TRUE(return_probes_are_safe("6.10.9"));
  EXPECT_FALSE(return_probes_are_safe("6.11.0"));
  EXPECT_FALSE(return_probes_are_safe("6.13.7-1"));
  EXPECT_TRUE(return_probes_are_safe("6.14"));
  EXPECT_TRUE(return_probes_are_safe("6.18.44-fc"));
  EXPECT_FALSE(return_probes_are_safe("linux"));
#endif
}

TEST(ReturnProbes, AreGivenUpWhereCallsAreMany) {
  using namespace std::chrono_literals;
  EXPECT_FALSE(timing_costs_too_much(10'000, 0s));
  EXPECT_TRUE(timing_costs_too_much(20'000, 1s));
  EXPECT_FALSE(timing_costs_too_much(20'000, 10s));
}

TEST(Recording, IsGivenUpWhereCallsAreMany) {
  using namespace std::chrono_literals;
  EXPECT_FALSE(recording_costs_too_much(20'000, 0s));
  EXPECT_TRUE(recording_costs_too_much(30'000, 1s));
  EXPECT_FALSE(recording_costs_too_much(30'000, 10s));
}

}  // namespace
}  // namespace hwprof::observe
