#include "counters/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "counters/events/event_table.h"
#include "counters/machine/affinity.h"

namespace hwprof {
namespace {

TEST(Machine, TheRealOneIsFoundOut) {
  const unsigned cpu = allowed_cpus().front();
  const Machine machine = probe_machine(cpu);
  EXPECT_FALSE(machine.cpu_name.empty());
  EXPECT_FALSE(machine.kernel.empty());
  EXPECT_FALSE(machine.arch.empty());
  EXPECT_GT(machine.memory_bytes, 1u << 20);
  EXPECT_GE(machine.cpus, machine.cores);
  EXPECT_GE(machine.cores, machine.packages);
  EXPECT_GE(machine.packages, 1u);
#if defined(__x86_64__)
  EXPECT_THAT(machine.isa, ::testing::Contains("sse2"));
#elif defined(__aarch64__)
  EXPECT_THAT(machine.isa, ::testing::Contains("neon"));
#endif
}

TEST(Machine, CachesGrowOutwardsAndAreShared) {
  const Machine machine = probe_machine(allowed_cpus().front());
  for (std::size_t i = 1; i < machine.caches.size(); ++i) {
    EXPECT_GT(machine.caches[i].level, machine.caches[i - 1].level);
    EXPECT_GE(machine.caches[i].shared_by, machine.caches[i - 1].shared_by);
  }
  for (const CacheLevel& cache : machine.caches) {
    EXPECT_GT(cache.bytes, 0u) << "an unknown size is no cache, not 0";
    EXPECT_GE(cache.shared_by, 1u);
    EXPECT_LE(cache.shared_by, machine.cpus);
  }
}

TEST(Machine, WithoutAPmuThereIsAReasonAndNoNumberOfCounters) {
  const Machine machine = probe_machine(allowed_cpus().front());
  EXPECT_EQ(machine.pmu.present(), !machine.pmu.devices.empty());
  if (!machine.pmu.present()) {
    EXPECT_FALSE(machine.pmu.counters.has_value());
  }
  EXPECT_NE(machine.pmu.reason.empty(), !machine.pmu.counters.has_value());
  if (machine.pmu.counters) {
    EXPECT_GE(*machine.pmu.counters, 1u);
  }
}

TEST(Machine, ProbingLeavesAffinityAndDescriptorsAsTheyWere) {
  const auto descriptors = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  const CpuList cpus = allowed_cpus();
  const auto before = descriptors();
  probe_machine(cpus.front());
  EXPECT_EQ(descriptors(), before);
  EXPECT_EQ(allowed_cpus(), cpus);
}

}  // namespace
}  // namespace hwprof
