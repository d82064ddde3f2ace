// Peers of bench/ beside a profile's rows: which case is a row's work, and what a file may be.
#include "src/commands/report/peers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/commands/report/saved.h"
#include "src/report/data/writers.h"
#include "src/report/render/render.h"

namespace hwprof {
namespace {

using Json = nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// What kernels_bench writes of one case.
Json one_case() {
  return Json::parse(R"({
    "name": "conv1d-maxpool/k:2/n:10/batch:3/iterations:1/manual_time", "run_type": "iteration",
    "threads": 1, "iterations": 1, "real_time": 12.5, "flops": 8e6, "bytes": 1e6,
    "size:k": 2.0, "size:d_c": 128.0, "size:n": 10.0, "size:batch": 3.0, "size:rows": 30.0,
    "fused:gflops": 8.0, "fused:ns": 1e6, "fused:ns_low": 9e5, "fused:ns_high": 2e6,
    "onednn:gflops": 3.9, "onednn:ns": 2e6, "onednn:ns_low": 1.6e6, "onednn:ns_high": 4e6,
    "onednn:ours": 2.0, "pytorch:ns": 4e6, "pytorch:ours": 4.0})");
}

Json file_of(const Json& benchmark) {
  Json json;
  json["context"] = {{"hwprof_bench", "1"}, {"cpu", "a CPU"}};
  json["benchmarks"] = Json::array({benchmark});
  return json;
}

report::Row row_of(const std::string& op) {
  report::Row row;
  row.op = op;
  row.variant = "fused";
  row.shape = {{"k", 2}, {"d_c", 128}, {"batch", 3}, {"rows", 30}};
  row.model.flops = 8e6;
  return row;
}

report::Profile a_profile() {
  report::Profile profile;
  profile.machine.cpu_name = "a CPU";
  profile.rows = {row_of("conv1d"), row_of("conv1d-maxpool")};
  return profile;
}

model::Peers peers_beside(const report::Profile& profile, const Json& benchmark) {
  const Result<BenchFile> bench = read_bench("bench.json", file_of(benchmark));
  if (bench) return peers_of(profile, *bench);
  ADD_FAILURE() << bench.error().what;
  return {};
}

TEST(Peers, StandBesideTheRowOfTheSameWork) {
  const model::Peers peers = peers_beside(a_profile(), one_case());
  EXPECT_THAT(peers.left_out, IsEmpty());
  ASSERT_EQ(peers.points.size(), 2U);
  const model::Peer& onednn = peers.points[0];
  EXPECT_EQ(onednn.name, "onednn");
  EXPECT_EQ(onednn.file, "bench.json");
  EXPECT_EQ(onednn.op, "conv1d-maxpool");
  EXPECT_EQ(onednn.shape, a_profile().rows[1].shape);
  EXPECT_EQ(onednn.time_ns, 2e6);
  EXPECT_EQ(onednn.gflops, 4);  // of the row's FLOP, not of those that bench's own rate counts
  EXPECT_EQ(onednn.gflops_low, 2);
  EXPECT_EQ(onednn.gflops_high, 5);
  EXPECT_EQ(onednn.intensity, 8);
  EXPECT_EQ(peers.points[1].name, "pytorch");
  EXPECT_EQ(peers.points[1].gflops_low, std::nullopt);
}

TEST(Peers, OfALayerOfANetworkStandBesideIt) {
  report::Profile profile = a_profile();
  profile.rows.clear();
  profile.layers.emplace().forms.emplace_back().layers.emplace_back().row =
      row_of("conv1d-maxpool");
  EXPECT_EQ(peers_beside(profile, one_case()).points.size(), 2U);
}

TEST(Peers, OursIsNone) {
  Json alone = one_case();
  for (const char* key : {"onednn:ours", "pytorch:ours"}) alone.erase(key);
  const model::Peers peers = peers_beside(a_profile(), alone);
  EXPECT_THAT(peers.points, IsEmpty());
  EXPECT_THAT(peers.left_out, IsEmpty());
}

// The reason for which a case with another value stands beside no row.
std::string reason_for(const std::string& key, const Json& value) {
  Json changed = one_case();
  changed[key] = value;
  const model::Peers peers = peers_beside(a_profile(), changed);
  EXPECT_THAT(peers.points, IsEmpty()) << key;
  return peers.left_out.size() == 1 ? peers.left_out.front() : "not one sentence";
}

TEST(Peers, OfOtherWorkAreLeftOutWithTheReason) {
  EXPECT_EQ(reason_for("name", "linear/103x128/batch:64"),
            "bench.json: no point for 1 case of linear (no row is of that operation).");
  EXPECT_THAT(reason_for("size:k", 4), HasSubstr("(no row has its sizes)"));
  EXPECT_THAT(reason_for("size:rows", 29), HasSubstr("(no row has its sizes)"));
  EXPECT_THAT(reason_for("threads", 2), HasSubstr("(no row ran on as many threads)"));
  EXPECT_THAT(reason_for("flops", 9e6), HasSubstr("(rows of its sizes count other FLOP)"));
  Json lacks = one_case();
  lacks.erase("size:rows");
  EXPECT_THAT(peers_beside(a_profile(), lacks).points, IsEmpty());
}

// bench/'s convolutions with pooling are not the rows of the convolution without it.
TEST(Peers, OfAFusedOperationAreNotThoseOfItsParts) {
  report::Profile profile = a_profile();
  profile.rows.pop_back();
  EXPECT_THAT(peers_beside(profile, one_case()).left_out,
              ElementsAre(HasSubstr("of conv1d-maxpool (no row is of that operation)")));
}

TEST(Peers, OfAnotherCpuAreLeftOutTogether) {
  report::Profile profile = a_profile();
  profile.machine.cpu_name = "another CPU";
  EXPECT_THAT(peers_beside(profile, one_case()).left_out,
              ElementsAre("bench.json: no point, since it was measured on another CPU (a CPU, not "
                          "another CPU)."));
}

TEST(Peers, OfACaseThatFailedAreLeftOutWithItsMessage) {
  const Json failed = {
      {"name", "linear/1x1"}, {"error_occurred", true}, {"error_message", "ours is wrong by 0.1"}};
  EXPECT_THAT(peers_beside(a_profile(), failed).left_out,
              ElementsAre(HasSubstr("1 case of linear (ours is wrong by 0.1)")));
}

TEST(Peers, OfMeansOverRepetitionsAreNoFurtherOnes) {
  Json mean = one_case();
  mean["run_type"] = "aggregate";
  EXPECT_THAT(peers_beside(a_profile(), mean).points, IsEmpty());
}

TEST(Peers, AreReadBackFromTheProfilesJson) {
  ReportFile file{"p.json", "hwprof.profile/1", Json::parse(report::profile_json(a_profile()))};
  const Result<BenchFile> bench = read_bench("bench.json", file_of(one_case()));
  ASSERT_TRUE(bench);
  ASSERT_TRUE(add_peers(file, {&*bench, 1}));
  EXPECT_EQ(file.json["peers"]["points"][0]["gflops"], 4);
  ASSERT_TRUE(add_peers(file, {&*bench, 1}));
  EXPECT_EQ(file.json["peers"]["points"].size(), 4U) << "those of a second file join the first";
  const auto page = saved_page(file);
  ASSERT_TRUE(page) << page.error().what;
  EXPECT_THAT(report::as_markdown(page->document),
              HasSubstr("| pytorch | 4.00 ms | 2.00 | 8.00 |"));
}

TEST(Peers, MoreThanCanBeDrawnAreRefused) {
  Json many = one_case();
  for (int i = 0; i < 3000; ++i) {
    many[fmt::format("p{}:ns", i)] = 1;
    many[fmt::format("p{}:ours", i)] = 1;
  }
  ReportFile file{"p.json", "hwprof.profile/1", Json::parse(report::profile_json(a_profile()))};
  const Result<BenchFile> bench = read_bench("bench.json", file_of(many));
  ASSERT_TRUE(bench);
  const Result<void> added = add_peers(file, {&*bench, 1});
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().what, "p.json has more than 3000 peers beside its rows");
}

std::string refused(const Json& json) {
  const Result<BenchFile> bench = read_bench("b.json", json);
  return bench ? "it was read" : bench.error().what;
}

TEST(BenchFile, ANumberOfAnotherKindIsRefusedWithItsKey) {
  const std::pair<const char*, Json> bad_values[] = {
      {"threads", "one"}, {"threads", 1.5},      {"threads", -1},         {"threads", 1e300},
      {"flops", 0},       {"flops", "many"},     {"bytes", -1},           {"bytes", nullptr},
      {"size:k", 2.5},    {"size:k", Json({1})}, {"size:k", 1e30},        {"onednn:ns", "fast"},
      {"onednn:ns", 0},   {"onednn:ns_low", -1}, {"onednn:ns_high", true}};
  for (const auto& [key, value] : bad_values) {
    Json bad = one_case();
    bad[key] = value;
    EXPECT_THAT(refused(file_of(bad)),
                testing::StartsWith("b.json: benchmarks[0]." + std::string(key) + " is no "))
        << value;
  }
}

TEST(BenchFile, AnIntervalHoldsItsMedian) {
  Json bad = one_case();
  bad["onednn:ns_low"] = 3e6;
  EXPECT_THAT(refused(file_of(bad)), HasSubstr("between its ns_low and ns_high"));
  bad = one_case();
  bad.erase("onednn:ns_high");
  EXPECT_THAT(refused(file_of(bad)), HasSubstr("onednn:ns_high is no number"));
}

TEST(BenchFile, ANameThatIsNoTextIsRefused) {
  for (const Json& name : {Json(3), Json(), Json("")}) {
    Json bad = one_case();
    bad["name"] = name;
    EXPECT_THAT(refused(file_of(bad)), HasSubstr("benchmarks[0].name is no text"));
  }
}

TEST(BenchFile, OfAnotherProgramOrVersionIsRefused) {
  Json json = file_of(one_case());
  ASSERT_TRUE(is_benchmark(json));
  json["context"]["hwprof_bench"] = "2";
  EXPECT_THAT(refused(json), HasSubstr("version 2 of hwprof_bench"));
  json["context"].erase("hwprof_bench");
  EXPECT_THAT(refused(json), HasSubstr("not of hwprof's bench"));
  json = file_of(one_case());
  json["context"]["cpu"] = 3;
  EXPECT_THAT(refused(json), HasSubstr("context.cpu is no text"));
  json = file_of(one_case());
  json["benchmarks"] = {{"name", "x"}};
  EXPECT_THAT(refused(json), HasSubstr("benchmarks is no list"));
  json["benchmarks"] = Json::array({3});
  EXPECT_THAT(refused(json), HasSubstr("benchmarks[0] is no object"));
}

TEST(BenchFile, IsNoReportOfHwprof) {
  for (const char* other :
       {R"([])", R"(3)", R"({})", R"({"context": 3, "benchmarks": []})", R"({"context": {}})",
        R"({"schema": "hwprof.run/1", "context": {}, "benchmarks": []})"})
    EXPECT_FALSE(is_benchmark(Json::parse(other))) << other;
}

}  // namespace
}  // namespace hwprof
