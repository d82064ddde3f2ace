// Each host that was expected gets one word, none is lost and none is counted twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/commands/fleet/merge.h"
#include "src/report/data/fleet_writers.h"
#include "src/report/documents/fleet.h"
#include "tests/fleet_records.h"

namespace hwprof {
namespace {

using model::HostState;
using model::Outcome;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kNow = 1795752000;  // 2026-11-27T04:00:00Z

FoundRecord found(const std::string& host, Outcome outcome = Outcome::kPass, double gflops = 100,
                  const std::string& run = "r1") {
  FoundRecord record;
  record.file = host + "@" + run + ".json";
  name_record(record);
  report::Check& check = record.check.emplace();
  check.version = "0.1.0";
  check.host = host;
  check.run_id = run;
  check.outcome = outcome;
  check.ended_utc = "2026-11-27T03:59:00Z";
  check.gflops = gflops;
  check.machine.cpu_name = "CPU";
  check.blas.provider = report::Provider::kOpenBlas;
  check.blas.version = "0.3.21";
  check.blas.core = "Zen";
  check.blas.results.bits = "00000000000000aa";
  return record;
}

report::Fleet merged(const std::string& hosts, const std::vector<FoundRecord>& records) {
  return merge(*parse_host_ranges(hosts), records, "r1", kNow);
}

TEST(FleetMerge, EachHostHasItsWord) {
  std::vector<ExpectedHost> expected = *parse_host_ranges("n[1-8]");
  expected[6].unavailable = "down: disk";
  expected[7].unavailable = "drained";  // and yet it has a record
  const report::Fleet fleet =
      merge(expected,
            {found("n1"), found("n2", Outcome::kFail), found("n3", Outcome::kUnknown),
             found("n4", Outcome::kPass, 100, "r0"), broken_record("n5@r1.json"), found("n8"),
             found("n9"), broken_record("notes.txt")},
            "r1", kNow);
  std::vector<HostState> states;
  for (const auto& host : fleet.hosts) states.push_back(host.state);
  using enum HostState;
  EXPECT_THAT(states, ElementsAre(kPass, kFail, kUnknown, kStale, kUnreadable, kNoRecord,
                                  kUnavailable, kPass));
  EXPECT_THAT(fleet.hosts[3].reason, HasSubstr("run r0"));
  EXPECT_THAT(fleet.hosts[4].reason, HasSubstr("ends in the middle"));
  EXPECT_EQ(fleet.hosts[6].reason, "down: disk");
  EXPECT_THAT(fleet.hosts[7].notes, ElementsAre(HasSubstr("drained")));
  EXPECT_THAT(fleet.unexpected, ElementsAre("n9"));
  EXPECT_THAT(fleet.foreign, ElementsAre("notes.txt"));
  std::size_t sum = 0;
  for (const auto& state : model::EnumNames<HostState>::kAll) sum += fleet.count(state.value);
  EXPECT_EQ(sum, expected.size());
}

TEST(FleetMerge, ExitCodes) {
  EXPECT_EQ(exit_code(merged("n[1-2]", {found("n1"), found("n2")})), 0);
  EXPECT_EQ(exit_code(merged("n[1-2]", {found("n1")})), 3);
  EXPECT_EQ(exit_code(merged("n[1-3]", {found("n1"), found("n2", Outcome::kFail)})), 1);
  EXPECT_EQ(exit_code(merged("n1", {found("n1", Outcome::kUnknown)})), 3);
}

TEST(FleetMerge, TwoRecordsOfAHostCountOnceAndTheNewestCounts) {
  FoundRecord copy = found("n1", Outcome::kFail);
  copy.file = "copy.json";
  copy.host = copy.run_id = "";
  copy.check->ended_utc = "2026-11-27T03:00:00Z";
  const report::Fleet fleet = merged("n1", {copy, found("n1")});
  ASSERT_EQ(fleet.hosts.size(), 1U);
  EXPECT_EQ(fleet.hosts[0].state, HostState::kPass);
  EXPECT_THAT(fleet.hosts[0].notes, ElementsAre(HasSubstr("2 records")));
  EXPECT_EQ(fleet.groups.at(0).hosts, 1U);
  EXPECT_THAT(fleet.unexpected, IsEmpty());
}

TEST(FleetMerge, TheNewestIsTheOneOfTheLatestTimeAndNotOfTheLatestText) {
  const auto of = [](const char* ended_utc, Outcome outcome) {
    FoundRecord record = found("n1", outcome);
    record.check->ended_utc = ended_utc;
    return record;
  };
  for (const auto& [older, newer] : std::initializer_list<std::pair<const char*, const char*>>{
           {"2026-11-27T03:30:00+01:00", "2026-11-27T03:00:00Z"},
           {"2026-11-27T03:00:00Z", "2026-11-26T23:30:00-05:00"},
           {"2026-11-27T03:00:00Z", "2026-11-27T03:00:00.25Z"},
           {"2026-11-27T03:00:00.9Z", "2026-11-27T03:00:01Z"}}) {
    for (const bool first : {true, false}) {
      const FoundRecord fails = of(older, Outcome::kFail), passes = of(newer, Outcome::kPass);
      const report::Fleet fleet =
          merged("n1", first ? std::vector{passes, fails} : std::vector{fails, passes});
      EXPECT_EQ(fleet.hosts[0].state, HostState::kPass) << older << ", " << newer;
      EXPECT_EQ(fleet.hosts[0].ended_utc, newer);
    }
  }
}

TEST(FleetMerge, AHostHasTheFixAndTheReasonsOfItsRecord) {
  FoundRecord record = found("n1", Outcome::kFail);
  record.check->gflops.reset();
  record.check->gflops_reason = "it hung";
  record.check->blas.fix = "unset OPENBLAS_CORETYPE";
  record.check->microcode_reason = "the kernel does not tell";
  const auto host = merged("n1", {record}).hosts.at(0);
  EXPECT_EQ(host.gflops_reason, "it hung");
  EXPECT_EQ(host.fix, "unset OPENBLAS_CORETYPE");
  EXPECT_EQ(host.microcode_reason, "the kernel does not tell");
}

TEST(FleetMerge, ADomainIsNoOtherHost) {
  EXPECT_EQ(merged("n1", {found("N1.lab.example")}).hosts[0].state, HostState::kPass);
  EXPECT_EQ(merged("n1.lab.example", {found("n1")}).hosts[0].state, HostState::kPass);
  EXPECT_EQ(merged("n1.a", {found("n1.b")}).hosts[0].state, HostState::kNoRecord);
  EXPECT_EQ(merged("n1", {found("n10")}).hosts[0].state, HostState::kNoRecord);
}

TEST(FleetMerge, ARecordThatCouldBeOfTwoHostsCountsOnce) {
  const report::Fleet fleet = merged("n1,n1.lab", {found("n1.lab")});
  EXPECT_EQ(fleet.hosts[0].state, HostState::kNoRecord);
  EXPECT_EQ(fleet.hosts[1].state, HostState::kPass);
  EXPECT_THAT(merged("n1.a,n1.b", {found("n1")}).unexpected, ElementsAre("n1"));
}

TEST(FleetMerge, ARecordFromTheFutureIsSaidToBe) {
  FoundRecord ahead = found("n1");
  ahead.check->ended_utc = "2026-11-28T00:00:00Z";
  const report::Fleet fleet = merged("n[1-2]", {ahead, found("n2")});
  EXPECT_EQ(fleet.hosts[0].state, HostState::kPass);
  EXPECT_THAT(fleet.hosts[0].notes, ElementsAre(HasSubstr("yet to come")));
  EXPECT_THAT(fleet.hosts[1].notes, IsEmpty());
}

std::vector<FoundRecord> forty() {
  std::vector<FoundRecord> records;
  for (int i = 1; i <= 40; ++i)
    records.push_back(found((i < 10 ? "n0" : "n") + std::to_string(i), Outcome::kPass,
                            100 + (i % 5 - 2)));  // 2 % to either side
  return records;
}

TEST(FleetMerge, OneOfFortyThatIsSlowerIsFound) {
  std::vector<FoundRecord> records = forty();
  EXPECT_THAT(merged("n[01-40]", records).groups.at(0).outliers, IsEmpty());
  records[6].check->gflops = 100 / 1.3;
  const report::Fleet fleet = merged("n[01-40]", records);
  ASSERT_EQ(fleet.groups.size(), 1U);
  EXPECT_THAT(fleet.groups[0].outliers, ElementsAre("n07"));
  EXPECT_NEAR(fleet.hosts[6].times_slower.value_or(0), 1.3, 0.01);
  EXPECT_EQ(exit_code(fleet), 0);
}

TEST(FleetMerge, HostsOfAnotherKindAreNoOutliers) {
  std::vector<FoundRecord> records = forty();
  for (int i = 0; i < 5; ++i) {
    records[static_cast<std::size_t>(i)].check->machine.cpu_name = "older CPU";
    records[static_cast<std::size_t>(i)].check->gflops = 40;
  }
  records[5].check->blas.version = "0.3.7";
  records[5].check->gflops = 50;
  const report::Fleet fleet = merged("n[01-40]", records);
  EXPECT_EQ(fleet.groups.size(), 3U);
  for (const auto& group : fleet.groups) EXPECT_THAT(group.outliers, IsEmpty());
  EXPECT_THAT(fleet.groups.back().limit_reason, HasSubstr("fewer than"));
}

TEST(FleetMerge, OtherBitsAreFoundWithinACpuModel) {
  std::vector<FoundRecord> records = forty();
  EXPECT_THAT(merged("n[01-40]", records).bits, IsEmpty());
  records[3].check->blas.results.bits = "00000000000000bb";
  records[3].check->blas.core = "Prescott";
  records[4].check->blas.results.bits = "00000000000000cc";
  records[4].check->machine.cpu_name = "older CPU";
  const report::Fleet fleet = merged("n[01-40]", records);
  ASSERT_EQ(fleet.bits.size(), 2U);
  EXPECT_EQ(fleet.bits[0].hosts.size(), 38U);
  EXPECT_THAT(fleet.bits[1].hosts, ElementsAre("n04"));
  EXPECT_EQ(fleet.bits[1].libraries, "openblas 0.3.21 Prescott");
}

TEST(FleetMerge, AnOlderHwprofIsNoted) {
  std::vector<FoundRecord> records = forty();
  records[9].check->version = "0.0.9";
  const report::Fleet fleet = merged("n[01-40]", records);
  EXPECT_THAT(fleet.hosts[9].notes, ElementsAre("checked by hwprof 0.0.9, most by 0.1.0"));
  EXPECT_THAT(fleet.hosts[8].notes, IsEmpty());
}

TEST(FleetMerge, TheOnlyRunIsTaken) {
  EXPECT_EQ(*run_to_merge({found("n1"), broken_record("n2@r7.json")}, ""), "r1");
  EXPECT_EQ(*run_to_merge({found("n1")}, "r5"), "r5");
  const auto several = run_to_merge({found("n1"), found("n1", Outcome::kPass, 1, "r2")}, "");
  ASSERT_FALSE(several);
  EXPECT_THAT(several.error().hint, HasSubstr("r1, r2"));
  EXPECT_FALSE(run_to_merge({broken_record("x.json")}, ""));
}

TEST(FleetMerge, ReportsSayTheSame) {
  std::vector<FoundRecord> records = forty();
  records[6].check->gflops = 100 / 1.3;
  records[7].check->outcome = Outcome::kFail;
  const report::Fleet fleet = merged("n[01-41]", records);
  const report::Document document = report::fleet_document(fleet);
  const auto& line = std::get<report::Paragraph>(document.blocks.at(0).content).text;
  EXPECT_EQ(line,
            "exit=1 run_id=r1 hosts=41 pass=39 fail=1 unknown=0 stale=0 unreadable=0 no_record=1 "
            "unavailable=0 outliers=1");
  const std::string csv = report::fleet_csv(fleet);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 42);
  EXPECT_THAT(csv, HasSubstr("\nn41,no_record,nothing of it was found,"));
  EXPECT_THAT(report::fleet_json(fleet), HasSubstr("\"schema\": \"hwprof.fleet/1\""));
}

}  // namespace
}  // namespace hwprof
