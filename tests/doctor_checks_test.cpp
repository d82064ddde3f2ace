// The doctor's judgements on machines that nobody here owns.
#include "src/commands/inspect/doctor_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hwprof {
namespace {

using report::Finding;
using report::State;
using testing::HasSubstr;

EventCount counted(const char* name) {
  EventCount count;
  count.name = name;
  count.value = 1;
  count.status = CountStatus::kOk;
  return count;
}

EventCount refused(const char* name, CountStatus status, const char* reason) {
  EventCount count;
  count.name = name;
  count.status = status;
  count.reason = reason;
  return count;
}

// A bare-metal machine on which nothing is to be mended.
DoctorFacts healthy() {
  DoctorFacts facts;
  facts.machine.cpu_name = "Xeon";
  facts.machine.arch = "x86_64";
  facts.machine.pmu.devices = {{"cpu", 4, {}}};
  facts.machine.pmu.counters = 8;
  facts.machine.perf_event_paranoid = 1;
  facts.machine.nmi_watchdog = false;
  facts.cpus = facts.online = {0, 1};
  facts.seccomp = 0;
  for (const char* name : kTriedEvents) facts.tried.push_back(counted(name));
  facts.userspace_reads = 1;
  facts.libpfm = "libpfm4 4.13";
  facts.libpfm_knows = true;
  facts.core = "Intel Sapphire Rapids";
  facts.governors = {"performance"};
  facts.frequency_driver = "intel_pstate";
  facts.turbo = false;
  facts.use = {{0, {0.01, 0}}, {1, {0.02, 0}}};
  facts.siblings = {{0, {}}, {1, {}}};
  facts.descriptors = 1024;
  facts.most_descriptors = 1 << 20;
  facts.blas = blas::Identity{};
  facts.judged.provider = report::Provider::kOpenBlas;
  facts.judged.verdict = report::VerdictKind::kOptimal;
  facts.judged.path = "/usr/lib/libblas.so.3";
  return facts;
}

Finding find(const DoctorFacts& facts, const std::string& name) {
  for (const Finding& finding : examine(facts))
    if (finding.name == name) return finding;
  ADD_FAILURE() << "no check " << name;
  return {};
}

TEST(DoctorChecks, AHealthyMachineHasNothingToMend) {
  for (const Finding& finding : examine(healthy()))
    EXPECT_TRUE(finding.state == State::kGood || finding.name == "capabilities")
        << finding.name << ": " << finding.finding;
}

TEST(DoctorChecks, EveryFindingSaysSomethingAndWhatIsToMendHasACommand) {
  DoctorFacts sick = healthy();
  sick.machine.pmu = {};
  sick.machine.perf_event_paranoid = 4;
  sick.machine.nmi_watchdog = true;
  sick.governors = {"powersave"};
  sick.frequency_driver = "acpi-cpufreq";
  sick.use = {{0, {0.9, 0.1}}, {1, {0.9, 0.1}}};
  sick.machine.virtualized = true;
  sick.descriptors = 16;
  sick.environment = {{"OPENBLAS_CORETYPE", "Prescott"}};
  sick.judged.verdict = report::VerdictKind::kUnoptimised;
  sick.judged.why = "sgemm runs on scalar code";
  sick.judged.fix = "unset LD_LIBRARY_PATH";
  for (const DoctorFacts& facts : {healthy(), sick, DoctorFacts{}})
    for (const Finding& finding : examine(facts)) {
      EXPECT_FALSE(finding.finding.empty()) << finding.name;
      if (finding.state != State::kMend) continue;
      EXPECT_FALSE(finding.consequence.empty()) << finding.name;
      EXPECT_FALSE(finding.remedy.empty()) << finding.name;
    }
}

TEST(DoctorChecks, WithoutAPmuItSaysWhatStillWorks) {
  DoctorFacts facts = healthy();
  facts.machine.virtualized = true;
  facts.machine.hypervisor = "KVM";
  facts.machine.pmu = {};
  facts.machine.nmi_watchdog = true;
  const Finding pmu = find(facts, "pmu");
  EXPECT_EQ(pmu.state, State::kNote) << "its host decides; nothing is wrong with the machine";
  EXPECT_THAT(pmu.finding, HasSubstr("KVM"));
  EXPECT_THAT(pmu.consequence, HasSubstr("still work"));
  EXPECT_THAT(pmu.remedy, HasSubstr("pmu=on"));
  // What depends on it is not held against the machine a second time.
  for (const char* name : {"counting", "counters", "userspace-reads"})
    EXPECT_EQ(find(facts, name).state, State::kUnknown) << name;
  EXPECT_EQ(find(facts, "nmi-watchdog").state, State::kNote);
}

TEST(DoctorChecks, ACounterThatExistsButDoesNotCountIsNamed) {
  DoctorFacts facts = healthy();
  facts.tried[2] = refused("cycles", CountStatus::kNotCounted, "cycles stays at 0");
  const Finding counting = find(facts, "counting");
  EXPECT_EQ(counting.state, State::kMend);
  EXPECT_THAT(counting.finding, HasSubstr("cycles"));
  EXPECT_THAT(counting.consequence, HasSubstr("stays at 0"));
}

TEST(DoctorChecks, TheParanoidLevelMattersOnlyToThoseWithoutTheCapability) {
  DoctorFacts facts = healthy();
  facts.machine.perf_event_paranoid = 3;
  EXPECT_EQ(find(facts, "paranoid").state, State::kMend);
  EXPECT_THAT(find(facts, "paranoid").remedy, HasSubstr("perf_event_paranoid=1"));
  facts.machine.perf_event_paranoid = 2;
  EXPECT_EQ(find(facts, "paranoid").state, State::kNote);
  facts.machine.perf_event_paranoid = 4;
  facts.cap_perfmon = true;
  EXPECT_EQ(find(facts, "paranoid").state, State::kGood);
  facts.machine.perf_event_paranoid.reset();
  EXPECT_EQ(find(facts, "paranoid").state, State::kMend);
}

TEST(DoctorChecks, ARefusalThatTheLevelDoesNotExplainIsTheSandbox) {
  DoctorFacts facts = healthy();
  facts.container = "docker";
  facts.seccomp = 2;
  EXPECT_EQ(find(facts, "sandbox").state, State::kGood);
  facts.tried[0] = refused("task-clock", CountStatus::kDenied, "permission denied");
  EXPECT_EQ(find(facts, "sandbox").state, State::kMend);
  EXPECT_THAT(find(facts, "sandbox").finding, HasSubstr("docker"));
  // The level explains it: then it is not the sandbox that is to be mended.
  facts.machine.perf_event_paranoid = 3;
  EXPECT_EQ(find(facts, "sandbox").state, State::kUnknown);
}

TEST(DoctorChecks, TheNmiWatchdogHoldsACounter) {
  DoctorFacts facts = healthy();
  facts.machine.nmi_watchdog = true;
  EXPECT_EQ(find(facts, "nmi-watchdog").state, State::kMend);
}

TEST(DoctorChecks, UserspaceReadsHaveTheCommandOfTheirArchitecture) {
  DoctorFacts facts = healthy();
  facts.userspace_reads = 0;
  EXPECT_THAT(find(facts, "userspace-reads").remedy, HasSubstr("devices/cpu/rdpmc"));
  facts.machine.arch = "aarch64";
  EXPECT_THAT(find(facts, "userspace-reads").remedy, HasSubstr("perf_user_access=1"));
}

TEST(DoctorChecks, AGovernorThatIsNotVisibleIsNotCalledGood) {
  DoctorFacts facts = healthy();
  facts.governors.clear();
  facts.turbo.reset();
  EXPECT_EQ(find(facts, "governor").state, State::kUnknown);
  EXPECT_EQ(find(facts, "turbo").state, State::kUnknown);
  facts.governors = {"powersave"};
  EXPECT_EQ(find(facts, "governor").state, State::kNote) << "intel_pstate raises the clock itself";
  facts.frequency_driver = "acpi-cpufreq";
  EXPECT_EQ(find(facts, "governor").state, State::kMend);
  facts.turbo = true;
  EXPECT_THAT(find(facts, "turbo").remedy, HasSubstr("cpufreq/boost"));
}

TEST(DoctorChecks, ABusySiblingIsNamedAndAnIdleOneIsNot) {
  DoctorFacts facts = healthy();
  facts.siblings = {{0, {4}}, {1, {5}}};
  facts.use[5].busy = 0.8;
  EXPECT_EQ(find(facts, "smt").state, State::kMend);
  EXPECT_THAT(find(facts, "smt").finding, HasSubstr("CPU 5"));
  facts.use[5].busy = 0;
  EXPECT_EQ(find(facts, "smt").state, State::kGood);
  facts.cpus = {0, 1, 4, 5};
  facts.siblings = {{0, {4}}, {1, {5}}, {4, {0}}, {5, {1}}};
  EXPECT_EQ(find(facts, "smt").state, State::kNote);
  EXPECT_EQ(find(facts, "smt").remedy, "hwprof --pin 0-1");
}

TEST(DoctorChecks, ABusyCpuIsAvoidedWhereAnotherIsQuiet) {
  DoctorFacts facts = healthy();
  facts.use[0].busy = 0.5;
  EXPECT_EQ(find(facts, "load").state, State::kMend);
  EXPECT_EQ(find(facts, "load").remedy, "hwprof --pin 1");
  facts.use[1].busy = 0.5;
  EXPECT_THAT(find(facts, "load").remedy, HasSubstr("ps "));
  facts.use.clear();
  EXPECT_EQ(find(facts, "load").state, State::kUnknown);
}

TEST(DoctorChecks, TimeThatTheHostTookCountsInAVirtualMachine) {
  DoctorFacts facts = healthy();
  facts.machine.virtualized = true;
  EXPECT_EQ(find(facts, "steal").state, State::kGood);
  facts.use[0].steal = 0.01;
  EXPECT_EQ(find(facts, "steal").state, State::kNote);
  facts.use[1].steal = 0.05;
  EXPECT_EQ(find(facts, "steal").state, State::kMend);
}

TEST(DoctorChecks, AVariableThatForcesACoreTypeIsToBeUnset) {
  DoctorFacts facts = healthy();
  facts.environment = {{"OMP_NUM_THREADS", "4"}};
  EXPECT_EQ(find(facts, "environment").state, State::kNote);
  facts.environment["OPENBLAS_CORETYPE"] = "Prescott";
  EXPECT_EQ(find(facts, "environment").state, State::kMend);
  EXPECT_EQ(find(facts, "environment").remedy, "unset OPENBLAS_CORETYPE");
  facts.blas->ignored = {"OPENBLAS_CORETYPE"};
  EXPECT_EQ(find(facts, "environment").state, State::kNote) << "the library does not read it";
}

TEST(DoctorChecks, OfTheBlasItSaysWhatTheOneJudgeSays) {
  DoctorFacts facts = healthy();
  EXPECT_EQ(find(facts, "blas").state, State::kGood);
  facts.judged.provider = report::Provider::kReference;
  facts.judged.verdict = report::VerdictKind::kUnoptimised;
  facts.judged.why = "programs get the reference BLAS from LD_LIBRARY_PATH: 40 times slower";
  facts.judged.fix = "unset LD_LIBRARY_PATH";
  const Finding slow = find(facts, "blas");
  EXPECT_EQ(slow.state, State::kMend);
  EXPECT_EQ(slow.finding, "programs get reference (/usr/lib/libblas.so.3)");
  EXPECT_EQ(slow.consequence, facts.judged.why);
  EXPECT_EQ(slow.remedy, facts.judged.fix);

  facts.judged.fix.clear();
  EXPECT_EQ(find(facts, "blas").state, State::kNote) << "nothing measured here is faster";
  facts.judged.verdict = report::VerdictKind::kBorderline;
  EXPECT_EQ(find(facts, "blas").state, State::kNote);
  facts.blas.reset();
  facts.blas_error = "no BLAS";
  EXPECT_EQ(find(facts, "blas").state, State::kMend);
  EXPECT_THAT(find(facts, "blas").remedy, HasSubstr("apt install"));
}

TEST(DoctorChecks, FewDescriptorsAreRaisedByTheUserWhereTheHardLimitAllows) {
  DoctorFacts facts = healthy();
  facts.descriptors = 16;
  EXPECT_THAT(find(facts, "descriptors").remedy, HasSubstr("ulimit -n"));
  facts.most_descriptors = 16;
  EXPECT_THAT(find(facts, "descriptors").remedy, HasSubstr("as root"));
}

TEST(DoctorChecks, ANarrowCpusetIsToldAndNoFault) {
  DoctorFacts facts = healthy();
  facts.online = {0, 1, 2, 3};
  EXPECT_EQ(find(facts, "cpuset").state, State::kNote);
  EXPECT_THAT(find(facts, "cpuset").finding, HasSubstr("0-1 of 0-3"));
}

TEST(DoctorFacts, TicksAreReadByCpuAndTheSumOfAllIsLeftOut) {
  const auto ticks = parse_cpu_ticks(
      "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 40 5 6 7 8 0 0\ncpu12 1 0 0 9 0 0 0 0 0 0\nintr 5\n");
  ASSERT_EQ(ticks.size(), 2u);
  EXPECT_EQ(ticks.at(0).busy, 1u + 2 + 3 + 6 + 7);
  EXPECT_EQ(ticks.at(0).idle, 45u);
  EXPECT_EQ(ticks.at(0).steal, 8u);
  EXPECT_EQ(ticks.at(12).idle, 9u);
}

TEST(DoctorFacts, UseIsTheShareOfTheTimeBetween) {
  const auto use = cpu_use({{0, {10, 100, 5}}, {1, {0, 0, 0}}, {2, {5, 5, 5}}},
                           {{0, {20, 125, 10}}, {2, {5, 5, 5}}, {3, {1, 1, 1}}});
  ASSERT_EQ(use.size(), 1u) << "no share without a tick, none without both ends";
  EXPECT_DOUBLE_EQ(use.at(0).busy, 0.25);
  EXPECT_DOUBLE_EQ(use.at(0).steal, 0.125);
}

TEST(DoctorChecks, WhatTheHypervisorShows) {
  DoctorFacts facts = healthy();
  EXPECT_EQ(find(facts, "cpu").state, State::kGood);
  facts.machine.id = {Vendor::kAmd, 25, 17, 1};
  facts.machine.isa = {"avx", "avx2", "fma"};
  facts.machine.virtualized = true;
  const Finding hidden = find(facts, "cpu");
  EXPECT_EQ(hidden.state, State::kNote);
  EXPECT_THAT(hidden.finding, HasSubstr("the hypervisor hides AVX-512"));
  EXPECT_THAT(hidden.remedy, HasSubstr("-cpu host"));
}

}  // namespace
}  // namespace hwprof
