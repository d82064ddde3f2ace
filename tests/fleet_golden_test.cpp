// What hwprof check and hwprof fleet merge write, from made-up records, whole: line, metrics, JSON,
// CSV, text. Each field has a value somewhere and is absent somewhere else.
#include <gtest/gtest.h>

#include <algorithm>

#include "src/commands/fleet/merge.h"
#include "src/report/data/fleet_writers.h"
#include "src/report/documents/check.h"
#include "src/report/documents/fleet.h"
#include "tests/fleet_records.h"
#include "tests/golden_file.h"

namespace hwprof::report {
namespace {

LadderRung rung(const char* core, const char* setting, double fraction) {
  LadderRung rung;
  rung.core = core;
  rung.setting = setting;
  rung.library = "/usr/lib/libopenblas.so.0";
  rung.provider = Provider::kOpenBlas;
  rung.version = "0.3.21";
  rung.gflops = 125 * fraction;
  rung.peak_fraction = fraction;
  rung.results = {true, "", "00000000000000aa"};
  return rung;
}

Check good(const std::string& host) {
  Check check;
  check.version = "0.1.0";
  check.run_id = "2026-11-27";
  check.host = host;
  check.boot_id = "7b82aa5c-3894-4d39-bc6d-bb22138f2f25";
  check.started_utc = "2026-11-27T04:30:00Z";
  check.ended_utc = "2026-11-27T04:30:07Z";
  check.elapsed_s = 6.75;
  check.busy_fraction = 0.0125;
  check.machine.cpu_name = "A CPU";
  check.machine.kernel = "6.1.0";
  check.machine.arch = "x86_64";
  check.machine.isa = {"sse2", "avx2", "avx512f"};
  check.machine.cpus = 8;
  check.cpu_id = "intel/6/143/8";
  check.microcode = "0x2b000181";
  check.blas.provider = Provider::kOpenBlas;
  check.blas.path = "/usr/lib/libopenblas.so.0";
  check.blas.version = "0.3.21";
  check.blas.core = "SkylakeX";
  check.blas.threading = "pthreads";
  check.blas.vector_class = VectorClass::kAvx512;
  check.blas.threads = 8;
  check.blas.verdict = VerdictKind::kOptimal;
  check.blas.factor = 1;
  check.blas.why = "nothing measured here is faster";
  check.blas.results = {true, "", "00000000000000aa"};
  check.blas.ladder = {rung("SkylakeX", "as found", 0.875),
                       rung("Haswell", "OPENBLAS_CORETYPE=Haswell", 0.5)};
  check.blas.ladder[0].as_found = true;
  model::conclude(check);
  return check;
}

Check bad(const std::string& host) {
  Check check = good(host);
  check.quick = true;
  check.boot_id = "";
  check.boot_id_reason = "/proc/sys/kernel/random/boot_id cannot be read";
  check.microcode = "";
  check.microcode_reason = "the kernel tells it neither in /proc/cpuinfo nor in /sys";
  check.busy_fraction.reset();
  check.blas.core = "Prescott";
  check.blas.vector_class = VectorClass::kSse;
  check.blas.verdict = VerdictKind::kUnoptimised;
  check.blas.factor = 7;
  check.blas.why = "OPENBLAS_CORETYPE=Prescott is set in the environment";
  check.blas.fix = "unset OPENBLAS_CORETYPE";
  check.blas.environment = {{"OPENBLAS_CORETYPE", "Prescott"}};
  check.blas.results = {true, "", "00000000000000bb"};
  check.blas.ladder = {rung("SkylakeX", "auto", 0.875), rung("Prescott", "as found", 0.125)};
  check.blas.ladder[1].as_found = true;
  model::conclude(check);
  return check;
}

Check without_blas(const std::string& host) {
  Check check = good(host);
  check.blas = {};
  check.blas.verdict = VerdictKind::kMissing;
  check.blas.why = "no BLAS is installed";
  check.blas.fix = "install libopenblas0-pthread";
  model::conclude(check);
  return check;
}

FoundRecord found(const Check& check) {
  FoundRecord record;
  record.file = check.host + "@" + check.run_id + ".json";
  name_record(record);
  record.check = check;
  return record;
}

// Of each word one host and more, an outlier, other bits, an older hwprof, a wrong clock.
Fleet made_fleet() {
  std::vector<FoundRecord> records;
  for (const char* host : {"n1", "n2", "n3", "n4"}) records.push_back(found(good(host)));
  Check slow = good("n5");
  slow.gflops = 70;
  slow.busy_fraction = 0.5;
  slow.version = "0.0.9";
  Check ahead = good("n6");
  ahead.ended_utc = "2026-11-29T04:30:07Z";
  Check open = without_blas("n8");
  open.blas.verdict = VerdictKind::kInconclusive;
  model::conclude(open);
  Check before = good("n10");
  before.run_id = "2026-11-20";
  for (const Check& check :
       {slow, ahead, bad("n7"), open, without_blas("n9"), before, good("stranger")})
    records.push_back(found(check));
  records.push_back(broken_record("n11@2026-11-27.json"));
  records.push_back(broken_record("notes.txt"));
  std::vector<ExpectedHost> expected = *parse_host_ranges("n[1-13]");
  expected[12].unavailable = "drained: dimm errors";
  Fleet fleet = merge(expected, records, "2026-11-27", 1795755600);  // 2026-11-27T05:00:00Z
  fleet.version = "0.1.0";
  fleet.folder = "/shared/blas";
  fleet.merged_utc = "2026-11-27T05:00:00Z";
  fleet.notes = {"a note"};
  return fleet;
}

TEST(GoldenFleet, Check) {
  expect_golden("check.json", check_json(good("node01")));
  expect_golden("check_bad.json", check_json(bad("node02")));
  expect_golden("check_missing.json", check_json(without_blas("node03")));
  expect_golden("check.prom", check_prometheus(good("node01")));
  expect_golden("check_missing.prom", check_prometheus(without_blas("node03")));
  std::string lines;
  for (const Check& check : {good("node01"), bad("node02"), without_blas("node03")})
    lines += check_line(check) + "\n" + check.reason + "\n";
  expect_golden("check.txt", lines);
}

// What hwprof report makes of a record.
TEST(GoldenFleet, CheckDocument) {
  expect_document("check", check_document(good("node01")));
  expect_document("check_bad", check_document(bad("node02")));
  expect_document("check_missing", check_document(without_blas("node03")));
}

TEST(GoldenFleet, Merge) {
  const Fleet fleet = made_fleet();
  for (const auto& word : model::EnumNames<model::HostState>::kAll) {
    const auto has_it = [&](const FleetHost& host) { return host.state == word.value; };
    EXPECT_TRUE(std::any_of(fleet.hosts.begin(), fleet.hosts.end(), has_it)) << word.text;
  }
  expect_golden("fleet.json", fleet_json(fleet));
  expect_golden("fleet.csv", fleet_csv(fleet));
  expect_document("fleet", fleet_document(fleet));
  Fleet quiet = merge(*parse_host_ranges("n[1-4]"),
                      {found(good("n1")), found(good("n2")), found(good("n3")), found(good("n4"))},
                      "2026-11-27", 1795755600);
  quiet.version = "0.1.0";
  quiet.merged_utc = "2026-11-27T05:00:00Z";
  expect_golden("fleet_quiet.json", fleet_json(quiet));
}

}  // namespace
}  // namespace hwprof::report
