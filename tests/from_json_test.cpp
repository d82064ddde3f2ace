// Records out of JSON: every document of tests/golden read and written again, and what is refused.
#include "src/model/from_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "src/model/run_record.h"
#include "src/model/sweep_record.h"
#include "src/report/data/writers.h"

namespace hwprof::model {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;

template <class T>
void expect_read_and_written_again(const std::string& name, const ordered_json& json) {
  const Result<T> read = from_json<T>(json);
  ASSERT_TRUE(read) << name << ": " << read.error().what;
  const ordered_json again = ordered_json::parse(report::json_of(*read));
  const ordered_json lost = ordered_json::diff(json, again);
  EXPECT_TRUE(lost.empty()) << name << ": " << lost.dump(2);
}

TEST(FromJson, EveryDocumentIsReadAsItWasWritten) {
  std::set<std::string> schemas;
  for (const auto& entry : std::filesystem::directory_iterator(DATA "/../golden")) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    const ordered_json json = ordered_json::parse(file);
    const std::string schema = json.value("schema", ""), name = entry.path().filename();
    schemas.insert(schema);
    if (schema == record<Profile>().schema) expect_read_and_written_again<Profile>(name, json);
    if (schema == record<model::Run>().schema)
      expect_read_and_written_again<model::Run>(name, json);
    if (schema == record<Sweep>().schema) expect_read_and_written_again<Sweep>(name, json);
  }
  for (const char* schema : {"hwprof.profile/1", "hwprof.run/1", "hwprof.sweep/1"})
    EXPECT_TRUE(schemas.count(schema)) << schema;
}

TEST(FromJson, KeysOfOtherVersionsAreLeftOutAndMissingOnesStayAsTheyAre) {
  const auto row = from_json<Row>({{"op", "relu"}, {"of_the_future", {1, 2}}});
  ASSERT_TRUE(row) << row.error().what;
  EXPECT_EQ(row->op, "relu");
  EXPECT_EQ(row->threads, 1);
  EXPECT_FALSE(row->time_ns);
}

TEST(FromJson, ValueOfAnotherTypeIsRefusedWithThePathOfItsKey) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"rows": [{}, {"time_ns": {"median": "fast"}}]})",
       R"(rows[1].time_ns.median: "fast" is no number)"},
      {R"({"rows": 3})", "rows: 3 is no list"},
      {R"({"rows": [7]})", "rows[0]: 7 is no object"},
      {R"({"hwprof": {"version": 1}})", "hwprof.version: 1 is no text"},
      {R"({"partial": "no"})", R"(partial: "no" is no bool)"},
      {R"({"pin": {"requested": [0, -1]}})", "pin.requested[1]: -1 is no number"},
      {R"({"rows": [{"bound": "luck"}]})",
       R"(rows[0].bound: "luck" is no word of compute, memory)"},
      {R"({"rows": [{"peak_fraction_ci95": [1, 2, 3]}]})",
       "rows[0].peak_fraction_ci95: a list is no list of 2"},
      {R"([1])", "a list is no object"}};
  for (const auto& [text, what] : cases) {
    const auto read = from_json<Profile>(ordered_json::parse(text));
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().fault, Fault::kUsage);
    EXPECT_THAT(read.error().what, HasSubstr(what));
  }
}

TEST(FromJson, NullIsAbsentAndNeverZero) {
  const auto row = from_json<Row>(
      ordered_json::parse(R"({"gflops": null, "intensity": null, "bound": null, "shape": null})"));
  ASSERT_TRUE(row) << row.error().what;
  EXPECT_FALSE(row->gflops);
  EXPECT_FALSE(row->intensity);
  EXPECT_FALSE(row->bound);
  EXPECT_TRUE(row->shape.empty());
  const auto count = from_json<ScalingCount>(ordered_json::parse(R"({"peak_gflops": null})"));
  ASSERT_TRUE(count) << count.error().what;
  EXPECT_NE(count->peak_gflops, count->peak_gflops) << "not a number";
}

// What would take hours, or more memory than there is, is refused before it is parsed.
TEST(CheckJson, RefusesWhatIsNestedTooDeepOrHasTooManyKeys) {
  EXPECT_TRUE(check_json(std::string(200, '[')));
  EXPECT_FALSE(check_json(std::string(201, '[')));
  const auto keys = [](int count) {
    std::string text = "{";
    for (int i = 0; i < count; ++i) text += "\"" + std::to_string(i) + "\":0,";
    return text + "\"a:b\":[{\"c\":1},{\"d\":2}]}";
  };
  EXPECT_TRUE(check_json(keys(1023)));
  const auto many = check_json(keys(1024));
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().what, "an object in it has more than 1024 keys");
}

TEST(CheckJson, RefusesMoreValuesThanThereIsMemoryFor) {
  const auto values = [](int count) {
    std::string text = "[0";
    for (int i = 0; i < count; ++i) text += ",0";
    return text + ",\",,,,\"]";
  };
  EXPECT_TRUE(check_json(values(1'999'998)));
  const auto many = check_json(values(1'999'999));
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().what, "it has more than 2000000 values");
  std::string nested;
  for (int i = 0; i < 20'000; ++i) nested += std::string(150, '[') + std::string(150, ']') + ",";
  EXPECT_FALSE(check_json("[" + nested + "0]")) << "with few commas";
}

}  // namespace
}  // namespace hwprof::model
