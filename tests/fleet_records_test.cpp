// Who may write into the folder of the records decides how many there are, and how long.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "src/commands/fleet/records.h"
#include "src/report/data/fleet_writers.h"

namespace hwprof {
namespace {

namespace fs = std::filesystem;

constexpr RecordsLimits kFewMegabytes{.bytes_of_all = 4U << 20U};

class FleetRecords : public ::testing::Test {
 protected:
  FleetRecords() {
    std::string name = fs::temp_directory_path() / "records-XXXXXX";
    folder_ = ::mkdtemp(name.data()) == nullptr ? "" : name;
  }
  ~FleetRecords() override { fs::remove_all(folder_); }

  void put_record(const std::string& host, std::size_t reason_bytes) const {
    report::Check check;
    check.version = "0.1.0";
    check.host = host;
    check.run_id = "r1";
    check.started_utc = check.ended_utc = "2026-11-27T03:00:00Z";
    check.reason = std::string(reason_bytes, 'r');
    std::ofstream(folder_ + "/" + host + "@r1.json") << report::check_json(check);
  }
  void link_record(const std::string& host, int number) const {
    fs::create_hard_link(folder_ + "/" + host + "@r1.json",
                         folder_ + "/" + host + std::to_string(number) + "@r1.json");
  }

  std::string folder_;
};

TEST_F(FleetRecords, OneIsNotLongerThanItsLimit) {
  put_record("node1", 200'000);
  put_record("node2", 300'000);
  const auto records = read_records(folder_);
  ASSERT_TRUE(records) << records.error().what;
  ASSERT_EQ(records->size(), 2U);
  EXPECT_TRUE(records->at(0).check) << records->at(0).problem;
  EXPECT_FALSE(records->at(1).check);
  EXPECT_NE(records->at(1).problem.find("no more than 262144 are read"), std::string::npos)
      << records->at(1).problem;
}

TEST_F(FleetRecords, AllTogetherHaveALimitAndWhatIsBeyondIsSaid) {
  put_record("node", 250'000);
  for (int i = 1; i < 20; ++i) link_record("node", i);
  const auto records = read_records(folder_, {}, "", kFewMegabytes);
  ASSERT_TRUE(records) << records.error().what;
  ASSERT_EQ(records->size(), 20U);
  std::size_t read = 0;
  for (const FoundRecord& record : *records) {
    read += record.check ? 1 : 0;
    EXPECT_EQ(record.check.has_value(), record.problem.empty()) << record.file;
  }
  EXPECT_GE(read, 15U);
  EXPECT_LT(read * 250'000, 4U << 20U);
}

TEST_F(FleetRecords, ThoseOfTheRunComeFirstWhateverElseFillsTheFolder) {
  put_record("!old", 250'000);
  for (int i = 1; i < 20; ++i) link_record("!old", i);
  put_record("node1", 1000);
  put_record("zeta", 200'000);  // more than is left after the others
  for (const char* other : {"Zeta", "zEta", "zeTa", "zetA"}) put_record(other, 250'000);
  const auto is_read = [](const std::vector<FoundRecord>& records, const std::string& host) {
    return std::any_of(records.begin(), records.end(), [&](const FoundRecord& record) {
      return record.check && record.check->host == host;
    });
  };
  const auto by_name = read_records(folder_, {}, "", kFewMegabytes);
  ASSERT_TRUE(by_name);
  EXPECT_FALSE(is_read(*by_name, "zeta"));
  EXPECT_NE(by_name->back().problem.find("4 MiB of others were"), std::string::npos)
      << by_name->back().problem;
  const auto wanted = read_records(folder_, {ExpectedHost{"zeta"}}, "r1", kFewMegabytes);
  ASSERT_TRUE(wanted);
  EXPECT_TRUE(is_read(*wanted, "zeta"));
  const auto few = read_records(folder_, {ExpectedHost{"zeta"}}, "r1", {.bytes_of_all = 1U << 20U});
  ASSERT_TRUE(few);
  EXPECT_TRUE(is_read(*few, "zeta")) << "letter by letter";
  const auto of_any = read_records(folder_, {ExpectedHost{"zeta"}}, "", kFewMegabytes);
  ASSERT_TRUE(of_any);
  EXPECT_TRUE(is_read(*of_any, "zeta"));
  EXPECT_TRUE(std::is_sorted(wanted->begin(), wanted->end(),
                             [](const auto& a, const auto& b) { return a.file < b.file; }));
}

// `{},` of a list is 3 bytes; what stands for it has some hundreds.
TEST_F(FleetRecords, ListsThatAreNotMergedAreNotKept) {
  report::Check check;
  check.host = "node";
  check.run_id = "r1";
  check.started_utc = check.ended_utc = "2026-11-27T03:00:00Z";
  check.machine.isa = {"avx2"};
  check.machine.cpu_name = "a CPU";
  check.blas.ladder.resize(2);
  check.blas.environment = {{"OMP_NUM_THREADS", "1"}};
  std::ofstream(folder_ + "/node@r1.json") << report::check_json(check);
  const auto records = read_records(folder_);
  ASSERT_TRUE(records);
  ASSERT_TRUE(records->at(0).check) << records->at(0).problem;
  const report::Check& kept = *records->at(0).check;
  EXPECT_EQ(kept.machine.cpu_name, "a CPU");
  EXPECT_TRUE(kept.blas.ladder.empty());
  EXPECT_TRUE(kept.blas.environment.empty());
  EXPECT_TRUE(kept.machine.isa.empty());
}

TEST_F(FleetRecords, AFolderOfTooManyFilesIsNotRead) {
  // A file has at most 65,000 links on ext4.
  for (const char* file : {"/a", "/b"}) std::ofstream(folder_ + file) << "no record";
  const auto link = [&](int number) {
    const std::string file = folder_ + (number % 2 == 0 ? "/a" : "/b");
    fs::create_hard_link(file, file + std::to_string(number));
  };
  for (int i = 2; i < 65'536; ++i) link(i);
  const auto most = read_records(folder_);
  ASSERT_TRUE(most) << most.error().what;
  EXPECT_EQ(most->size(), 65'536U);
  link(65'536);
  const auto records = read_records(folder_);
  ASSERT_FALSE(records);
  EXPECT_NE(records.error().what.find("more than 65536 files"), std::string::npos)
      << records.error().what;
}

}  // namespace
}  // namespace hwprof
