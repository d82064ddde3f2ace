#include "counters/events/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include "counters/events/event_table.h"
#include "tests/libpfm_tables.h"

namespace hwprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

Machine machine_of(CpuId id, std::vector<PmuDevice> devices) {
  Machine machine;
  machine.id = id;
  machine.pmu.devices = std::move(devices);
  if (!machine.pmu.present()) {
    machine.virtualized = true;
    machine.pmu.reason = "this machine exposes no PMU (a virtual machine under KVM)";
  }
  machine.perf_event_paranoid = 2;
  return machine;
}

const Machine kZen4 = machine_of({Vendor::kAmd, 0x19, 0x11, 1}, {{"cpu", 4, {}}});
const Machine kSapphireRapids = machine_of({Vendor::kIntel, 6, 143, 8}, {{"cpu", 4, {}}});
const Machine kRaptorLake =
    machine_of({Vendor::kIntel, 6, 0xb7, 1}, {{"cpu_atom", 10, {16, 17}}, {"cpu_core", 4, {0, 1}}});
const Machine kGuest = machine_of({Vendor::kAmd, 0x1a, 2, 1}, {});

TEST(Resolve, TheOwnTableGivesWeightedTermsOnTheMachinesPmu) {
  const auto event = resolve(kSapphireRapids, 0, "flops");
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->source, "own table");
  ASSERT_THAT(event->terms, SizeIs(5));
  EXPECT_EQ(event->terms[4].event.type, 4u);
  EXPECT_EQ(event->terms[4].event.config, 0x80c7u);
  EXPECT_EQ(event->terms[4].weight, 16);
  EXPECT_THAT(event->event, HasSubstr("16 x cpu/FP_ARITH_INST_RETIRED:512B_PACKED_SINGLE/ 0x80c7"));
  EXPECT_THAT(event->caveat, HasSubstr("masked lanes"));
}

TEST(Resolve, AnEventThatMeansSomethingElseChangesItsName) {
  EXPECT_EQ(resolve(kZen4, 0, "cache-misses")->shown_as, "l2-miss");
  EXPECT_EQ(resolve(kSapphireRapids, 0, "cache-misses")->shown_as, "llc-miss");
  EXPECT_EQ(resolve(kZen4, 0, "stalls")->shown_as, "no-retire-cycles");
  EXPECT_EQ(resolve(kSapphireRapids, 0, "llc-miss")->shown_as, "llc-miss");
}

TEST(Resolve, ZenHasNoLastLevelEventAndSaysWhatToAskInstead) {
  const auto event = resolve(kZen4, 0, "llc-miss");
  ASSERT_TRUE(event.has_value());
  EXPECT_FALSE(event->countable());
  EXPECT_EQ(event->refusal.status, CountStatus::kUnsupported);
  EXPECT_THAT(event->refusal.reason, HasSubstr("amd_l3"));
  EXPECT_THAT(event->refusal.remedy, HasSubstr("l2-miss"));
}

TEST(Resolve, AHybridMachineCountsWithThePmuOfThePinnedCpu) {
  const auto big = resolve(kRaptorLake, 1, "instructions");
  ASSERT_THAT(big->terms, SizeIs(1));
  EXPECT_EQ(big->terms[0].event.config, 4ull << 32 | PERF_COUNT_HW_INSTRUCTIONS);
  const auto small = resolve(kRaptorLake, 16, "instructions");
  EXPECT_EQ(small->terms[0].event.config, 10ull << 32 | PERF_COUNT_HW_INSTRUCTIONS);
  EXPECT_EQ(resolve(kRaptorLake, 1, "flops")->terms[0].event.type, 4u);
  EXPECT_EQ(resolve(kRaptorLake, 16, "llc-miss")->terms[0].event.type, 10u);
  EXPECT_EQ(resolve(kRaptorLake, 16, "r01c2")->terms[0].event.type, 10u);
  EXPECT_THAT(resolve(kRaptorLake, 16, "flops")->refusal.reason, HasSubstr("E-core"));
  EXPECT_THAT(resolve(kRaptorLake, 99, "cycles")->refusal.reason, HasSubstr("pinned CPU"));
}

TEST(Resolve, APlainMachineUsesTheKernelsPlainEvents) {
  const auto event = resolve(kZen4, 0, "cycles");
  EXPECT_EQ(event->source, "kernel");
  EXPECT_EQ(event->terms[0].event.type, static_cast<std::uint32_t>(PERF_TYPE_HARDWARE));
  EXPECT_EQ(event->terms[0].event.config, static_cast<std::uint64_t>(PERF_COUNT_HW_CPU_CYCLES));
  EXPECT_TRUE(event->must_rise);
}

void expect_no_pmu(const char* name) {
  const auto event = resolve(kGuest, 0, name);
  ASSERT_TRUE(event.has_value()) << name << ": " << event.error().what;
  EXPECT_FALSE(event->countable()) << name;
  EXPECT_THAT(event->refusal.reason, HasSubstr("no PMU")) << name;
}

TEST(Resolve, WithoutAPmuEveryHardwareEventIsUnsupportedAndNoneIsAnError) {
  for (std::string_view name : portable_names()) {
    const auto event = resolve(kGuest, 0, name);
    ASSERT_TRUE(event.has_value()) << name;
    if (find_portable(name)->kind == PortableKind::kSoftware) {
      EXPECT_TRUE(event->countable()) << name;
      continue;
    }
    EXPECT_FALSE(event->countable()) << name;
    EXPECT_EQ(event->refusal.status, CountStatus::kUnsupported) << name;
    EXPECT_THAT(event->refusal.reason, HasSubstr("no PMU")) << name;
    EXPECT_FALSE(event->refusal.remedy.empty()) << name;
  }
  for (const char* name : {"r01c2", "cpu/event=0xc2,umask=1/"}) expect_no_pmu(name);
}

TEST(Resolve, WithoutAPmuAnEventOfLibpfmIsUnsupportedToo) {
  EXPECT_WITH_TABLES(kGenericTables, [] { expect_no_pmu("LLC-LOAD-MISSES"); });
#if defined(__x86_64__)
  EXPECT_WITH_TABLES("spr", [] { expect_no_pmu("INST_RETIRED"); });
  EXPECT_WITH_TABLES("skx", [] { expect_no_pmu("snb::INST_RETIRED"); });
#endif
}

TEST(Resolve, ACpuThatTheTableDoesNotKnowSaysSo) {
  const Machine machine = machine_of({Vendor::kAmd, 0x1a, 0x50, 0}, {{"cpu", 4, {}}});
  const auto event = resolve(machine, 0, "flops");
  EXPECT_THAT(event->refusal.reason, HasSubstr("amd/26/80"));
  EXPECT_TRUE(resolve(machine, 0, "cycles")->countable()) << "generic events go on";
}

TEST(Resolve, RawEncodingsGoToThePmuUnchanged) {
  const auto event = resolve(kZen4, 0, "r01c2");
  EXPECT_EQ(event->source, "raw");
  EXPECT_EQ(event->terms[0].event.type, 4u);
  EXPECT_EQ(event->terms[0].event.config, 0x1c2u);
  EXPECT_FALSE(resolve(kZen4, 0, "read").has_value()) << "a word is no encoding";
}

TEST(Resolve, UnknownEventsAreUsageErrorsWithTheNearestNames) {
  const auto event = resolve(kGuest, 0, "llc-mis");
  ASSERT_FALSE(event.has_value());
  EXPECT_EQ(event.error().fault, Fault::kUsage);
  EXPECT_THAT(event.error().what, HasSubstr("'llc-mis'"));
  EXPECT_THAT(event.error().hint, HasSubstr("llc-miss"));
  EXPECT_THAT(resolve(kGuest, 0, "zzzzzzzz").error().hint, HasSubstr("cycles"));
  for (const char* name :
       {"", "  ", "nosuch/event=1/", "cpu/event=1", "foo::bar", ":::", "/", "//"})
    EXPECT_FALSE(resolve(kGuest, 0, name).has_value()) << name;
}

TEST(Resolve, AKnownEventWithAnUnknownOrMissingUnitMaskIsAUsageError) {
  EXPECT_WITH_TABLES(kGenericTables, [] {
    const auto event = resolve(kGuest, 0, "perf::PAGE-FAULTS:NOSUCH");
    ASSERT_FALSE(event.has_value());
    EXPECT_THAT(event.error().what, HasSubstr("libpfm4"));
  });
#if defined(__x86_64__)
  EXPECT_WITH_TABLES("icl", [] {
    const auto event = resolve(kGuest, 0, "INST_RETIRED");
    ASSERT_FALSE(event.has_value()) << "without a PMU, too";
    EXPECT_THAT(event.error().what, HasSubstr("unit mask"));
  });
#endif
}

TEST(Resolve, LibpfmNamesResolveToSoftwareEventsToo) {
  EXPECT_WITH_TABLES(kGenericTables, [] {
    const auto event = resolve(kGuest, 0, "perf::PAGE-FAULTS");
    ASSERT_TRUE(event.has_value());
    EXPECT_THAT(event->source, HasSubstr("libpfm4"));
    ASSERT_THAT(event->terms, SizeIs(1));
    EXPECT_TRUE(event->terms[0].event.is_software());
  });
}

TEST(Resolve, EventOfAnotherCpuIsNotTheSameAsUnknown) {
#if defined(__x86_64__)
  EXPECT_WITH_TABLES("skx", [] {
    const auto other = resolve(kSapphireRapids, 0, "snb::INST_RETIRED");
    ASSERT_TRUE(other.has_value()) << other.error().what;
    EXPECT_FALSE(other->countable());
    EXPECT_THAT(other->refusal.reason, HasSubstr("snb"));
  });
#endif
  EXPECT_FALSE(resolve(kZen4, 0, "FP_FLOPS_RETIRED:NOSUCH"))
      << "no CPU that libpfm4 4.13 knows has it";
}

TEST(Resolve, AnEventOfTheCpuOfTheTablesIsEncodedForThePmuOfTheMachine) {
#if defined(__x86_64__)
  EXPECT_WITH_TABLES("amd64_fam19h_zen4", [] {
    const auto event = resolve(kZen4, 0, "RETIRED_SSE_AVX_FLOPS:ANY");
    ASSERT_TRUE(event.has_value()) << event.error().what;
    ASSERT_THAT(event->terms, SizeIs(1));
    EXPECT_EQ(event->terms[0].event.type, 4u);
    EXPECT_EQ(event->terms[0].event.config & 0xffff, 0x1f03u);
  });
#endif
}

TEST(Resolve, ListsAreSplitAtCommasOutsideSlashes) {
  EXPECT_THAT(*split_event_list("cycles, cpu/event=1,umask=2/,flops"),
              ElementsAre("cycles", "cpu/event=1,umask=2/", "flops"));
  for (const char* text : {"", ",", "a,,b", "a,", "cpu/event=1,b"})
    EXPECT_FALSE(split_event_list(text).has_value()) << text;
}

}  // namespace
}  // namespace hwprof
