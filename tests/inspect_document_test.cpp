// What hwprof events, doctor and peak say of a machine, as text.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "src/report/documents/inspect.h"
#include "src/report/render/render.h"

namespace hwprof::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

EventLine line(const char* name, CountStatus status, const char* reason) {
  EventLine line;
  line.resolved.name = line.resolved.shown_as = name;
  line.resolved.source = "own table";
  line.resolved.document = "a manual";
  line.tried = status;
  line.reason = reason;
  return line;
}

Events sample() {
  EventLine flops = line("flops", CountStatus::kUnsupported, "no PMU");
  flops.terms = {{"FP:SCALAR", 0x3c7, 1}, {"FP:PACKED", 0x20c7, 8}};
  flops.resolved.event = "cpu/FP:SCALAR/ 0x03c7 + 8 x cpu/FP:PACKED/ 0x20c7";
  flops.resolved.meaning = "operations";
  flops.resolved.caveat = "FMA counts twice";
  EventLine stalls = line("stalls", CountStatus::kUnsupported, "no PMU");
  stalls.terms = {{"STALL", 0x24, 1}};
  stalls.resolved.event = "cpu/STALL/ 0x24";
  stalls.resolved.shown_as = "backend-stalls";
  EventLine clock = line("task-clock", CountStatus::kOk, "");
  clock.resolved.event = "PERF_TYPE_SOFTWARE 0x1";
  Events events;
  events.version = "1";
  events.cpu_name = "A CPU";
  events.cpu_id = "intel/6/143";
  events.cpu = 0;
  events.pmu = "there is none";
  events.libpfm = "libpfm4 does not know it";
  events.cores = {{"Intel Sapphire Rapids", "", {flops, stalls, clock}}};
  return events;
}

TEST(EventsReport, TheListHasALineAnEventAndSaysEachReasonOnce) {
  const std::string text = as_text(events_document(sample()), {});
  EXPECT_THAT(text, HasSubstr("FP r03c7, r20c7"));
  EXPECT_THAT(text, HasSubstr("shown as backend-stalls"));
  EXPECT_THAT(text, HasSubstr("flops, stalls: no PMU"));
  EXPECT_THAT(text, HasSubstr("libpfm4 does not know it"));
}

TEST(EventsReport, TheExplanationHasNativeEventsWeightsCaveatAndSource) {
  Events events = sample();
  events.explain = true;
  const std::string text = as_text(events_document(events), {});
  EXPECT_THAT(text, HasSubstr(" 1 x r03c7  FP:SCALAR"));
  EXPECT_THAT(text, HasSubstr(" 8 x r20c7  FP:PACKED"));
  EXPECT_THAT(text, HasSubstr("FMA counts twice"));
  EXPECT_THAT(text, HasSubstr("own table, after: a manual"));
  EXPECT_THAT(text, HasSubstr("unsupported: no PMU"));
  EXPECT_THAT(text, Not(HasSubstr("Any other event")));
}

Doctor patient() {
  Doctor doctor;
  doctor.version = "1";
  doctor.cpus = {0, 1};
  doctor.findings = {{"load", State::kGood, "quiet", "", ""},
                     {"paranoid", State::kMend, "level 4", "nobody may count", "sysctl x=1"},
                     {"turbo", State::kUnknown, "not visible", "", ""}};
  return doctor;
}

TEST(DoctorReport, WhatIsToFixStandsFirstWithItsCommand) {
  const std::string text = as_text(doctor_document(patient()), {});
  EXPECT_EQ(text.find("1 thing to fix"), 0u);
  EXPECT_LT(text.find("level 4"), text.find("quiet"));
  EXPECT_THAT(text, HasSubstr("fix: sysctl x=1"));
  Doctor well = patient();
  EXPECT_FALSE(well.clean());
  well.findings.erase(well.findings.begin() + 1);
  EXPECT_TRUE(well.clean());
  EXPECT_EQ(as_text(doctor_document(well), {}).find("Nothing to fix"), 0u);
}

TEST(PeakReport, NumbersHaveTheirLevelAndUnit) {
  PeakReport report;
  report.machine.cpu_name = "A CPU";
  report.cpus = {0};
  report.peak.f32_gflops = 250;
  report.peak.isa = "avx2";
  report.peak.by_isa = {{"sse", 60}, {"avx2", 250}};
  report.peak.bandwidth = {{"L1", 24576, 300, 200, 150}};
  const std::string text = as_text(peak_document(report), {});
  EXPECT_THAT(text, HasSubstr("250 GFLOP/s by avx2 on A CPU, 1 thread"));
  EXPECT_THAT(text, HasSubstr("24 KiB"));
}

TEST(InspectReports, LinesFit) {
  Events explained = sample();
  explained.explain = true;
  explained.cores[0].events[0].resolved.caveat =
      fmt::format("{} and a long caveat that has to be wrapped because it goes on and on",
                  std::string(30, 'x'));
  for (const int columns : {80, 100}) {
    const TextStyle style{.colour = false, .columns = columns};
    for (const std::string& text :
         {as_text(events_document(sample()), style), as_text(events_document(explained), style),
          as_text(doctor_document(patient()), style)}) {
      std::istringstream lines(text);
      for (std::string one; std::getline(lines, one);)
        EXPECT_LE(static_cast<int>(one.size()), columns) << one;
    }
  }
}

}  // namespace
}  // namespace hwprof::report
