#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "src/report/data/writers.h"
#include "tests/sample_profile.h"

namespace hwprof::report {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json parsed(const Profile& profile) { return json::parse(profile_json(profile)); }

void expect_keys(const json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) EXPECT_TRUE(object.contains(key)) << key << " in " << object;
}

TEST(Json, HasTheKeysOfTheContract) {
  const json out = parsed(sample_profile());
  EXPECT_EQ(out["schema"], "hwprof.profile/1");
  EXPECT_EQ(out["hwprof"]["version"], "0.1.0");
  expect_keys(out, {"machine", "pin", "peak", "blas", "rows", "complexity", "warnings"});
  expect_keys(out["machine"], {"cpu", "isa", "virtualized", "pmu", "perf_event_paranoid"});
  expect_keys(out["machine"]["pmu"], {"present", "counters", "reason"});
  expect_keys(out["pin"], {"requested", "actual", "migrations"});
  expect_keys(out["peak"], {"f32_gflops", "isa", "by_isa", "bandwidth_gbs"});
  expect_keys(out["peak"]["bandwidth_gbs"], {"L1", "L2", "L3", "memory"});
  expect_keys(out["blas"], {"provider", "version", "path", "core", "threads", "environment",
                            "ladder", "verdict", "factor", "why", "fix"});
  for (const json& rung : out["blas"]["ladder"]) expect_keys(rung, {"core", "gflops"});
  ASSERT_EQ(out["rows"].size(), 10u);
  for (const json& row : out["rows"]) {
    expect_keys(row, {"op", "variant", "shape", "threads", "calls", "time_ns", "model", "gflops",
                      "peak_fraction", "intensity", "bound", "max_rel_error", "counters"});
    expect_keys(row["model"], {"flops", "bytes", "cost_units"});
    if (!row["time_ns"].is_null()) expect_keys(row["time_ns"], {"median", "ci95", "min"});
    for (const json& counter : row["counters"]) {
      expect_keys(counter, {"value", "status", "coverage", "event", "reason"});
    }
  }
  expect_keys(out["complexity"], {"agrees", "rows"});
  for (const json& row : out["complexity"]["rows"]) {
    expect_keys(row, {"op", "model_share", "time_share"});
  }
  for (const json& warning : out["warnings"]) expect_keys(warning, {"code", "text"});
}

TEST(Json, NumbersHaveFullPrecision) {
  const Profile profile = sample_profile();
  const json out = parsed(profile);
  EXPECT_EQ(out["elapsed_s"], profile.elapsed_s);
  EXPECT_EQ(out["machine"]["memory_bytes"], profile.machine.memory_bytes);
  EXPECT_EQ(out["peak"]["by_isa"]["avx2"], 132.4);
  EXPECT_EQ(out["peak"]["bandwidth_gbs"]["L2"], 251.7);
  EXPECT_EQ(out["peak"]["bandwidth"][1]["triad_gbs"], 201.6);
  EXPECT_EQ(out["peak"]["bandwidth"][3]["copy_gbs"], 22.87);
  EXPECT_EQ(out["blas"]["factor"], 1.902);
  EXPECT_EQ(out["blas"]["ladder"][0]["gflops"], 237.4);
  EXPECT_EQ(out["blas"]["ladder"][0]["peak_fraction"], 0.8958);
  EXPECT_EQ(out["workload"]["batch_padding_factor"], 3.874);
  EXPECT_EQ(out["workload"]["mean_length"], 123.87);
  for (std::size_t i = 0; i < profile.rows.size(); ++i) {
    const Row& row = profile.rows[i];
    const json& got = out["rows"][i];
    EXPECT_EQ(got["calls"], row.calls);
    EXPECT_EQ(got["model"]["flops"], row.model.flops);
    EXPECT_EQ(got["model"]["bytes"], row.model.bytes);
    EXPECT_EQ(got["model"]["cost_units"], row.model.cost_units);
    EXPECT_EQ(got["model"]["comparisons"], row.model.comparisons);
    EXPECT_EQ(got["intensity"], *row.intensity);
    EXPECT_EQ(got["roofline_ns"], *row.roofline_ns);
    for (const auto& [name, value] : row.shape) EXPECT_EQ(got["shape"][name], value);
    if (!row.time_ns) continue;
    EXPECT_EQ(got["time_ns"]["median"], row.time_ns->median);
    EXPECT_EQ(got["time_ns"]["min"], row.time_ns->min);
    EXPECT_EQ(got["time_ns"]["mean"], row.time_ns->mean);
    EXPECT_EQ(got["time_ns"]["ci95"], json({*row.time_ns->ci95_low, *row.time_ns->ci95_high}));
    EXPECT_EQ(got["time_ns"]["samples"], row.time_ns->samples);
    EXPECT_EQ(got["forward_share"], *row.forward_share);
    EXPECT_EQ(got["max_rel_error"], *row.max_rel_error);
    EXPECT_EQ(got["roofline_fraction"], *row.roofline_fraction);
    if (row.gflops) {
      EXPECT_EQ(got["gflops"], *row.gflops);
    }
    if (row.peak_fraction) {
      EXPECT_EQ(got["peak_fraction"], *row.peak_fraction);
    }
    EXPECT_EQ(got["counters"]["task-clock"]["value"], *row.counters[0].value);
    EXPECT_EQ(got["counters"]["task-clock"]["total"], *row.counters[0].total);
    EXPECT_EQ(got["counters"]["instructions"]["coverage"], 0.617);
  }
  EXPECT_EQ(out["passes"][3]["time_ns"], 10.849e6);
  EXPECT_EQ(out["complexity"]["rows"][1]["roofline_share"], 0.02846);
}

TEST(Json, EveryAbsentNumberHasAReasonBesideIt) {
  const json rows = parsed(sample_profile())["rows"];
  for (const json& row : rows) {
    for (const char* key : {"gflops", "peak_fraction", "max_rel_error", "counted_to_model_flops"}) {
      EXPECT_NE(row[key].is_null(), row[std::string(key) + "_reason"].is_null()) << key;
    }
    EXPECT_NE(row["time_ns"].is_null(), row["reason"].is_null());
    for (const auto& [name, counter] : row["counters"].items()) {
      if (counter["value"].is_null()) {
        EXPECT_FALSE(counter["reason"].is_null()) << name;
      }
    }
  }
}

TEST(Json, EveryStatusHasItsName) {
  const json counters = parsed(sample_profile())["rows"][4]["counters"];
  EXPECT_EQ(counters["task-clock"]["status"], "ok");
  EXPECT_EQ(counters["instructions"]["status"], "scaled");
  EXPECT_EQ(counters["branch-misses"]["status"], "not-counted");
  EXPECT_EQ(counters["llc-miss"]["status"], "unsupported");
  EXPECT_EQ(counters["flops"]["status"], "denied");
  EXPECT_EQ(counters["branch-misses"]["shown_as"], "branch-misses-all");
  EXPECT_TRUE(counters["flops"]["value"].is_null());
  EXPECT_TRUE(counters["flops"]["coverage"].is_null());
}

TEST(Json, CountThatCannotBeRightSaysWhy) {
  const json rows = parsed(sample_profile())["rows"];
  EXPECT_THAT(rows[0]["counters"]["instructions"]["implausible"], HasSubstr("11.2 instructions"));
  EXPECT_TRUE(rows[1]["counters"]["instructions"]["implausible"].is_null());
}

TEST(Json, NumbersThatAreNotFiniteAreNull) {
  Profile profile = sample_profile();
  profile.rows[0].time_ns->median = std::numeric_limits<double>::infinity();
  profile.rows[0].intensity = std::numeric_limits<double>::quiet_NaN();
  profile.peak->by_isa[0].second = std::numeric_limits<double>::quiet_NaN();
  const json out = parsed(profile);
  EXPECT_TRUE(out["rows"][0]["time_ns"]["median"].is_null());
  EXPECT_TRUE(out["rows"][0]["intensity"].is_null());
  EXPECT_TRUE(out["peak"]["by_isa"]["scalar"].is_null());
}

TEST(Json, NamesThatAreNotUtf8DoNotBreakIt) {
  Profile profile = sample_profile();
  profile.blas.path = "/tmp/\xff\xfe/libblas.so";
  profile.blas.environment["OPENBLAS_\xc3"] = "\xe2\x80";
  profile.command.push_back("--docs=\x80");
  const std::string text = profile_json(profile);
  EXPECT_THAT(text, HasSubstr("/tmp/\\ufffd\\ufffd/libblas.so"));
  EXPECT_TRUE(json::accept(text));
}

TEST(Json, EmptyRecordIsValid) {
  const json out = parsed(Profile{});
  EXPECT_TRUE(out["peak"].is_null());
  EXPECT_TRUE(out["complexity"]["agrees"].is_null());
  EXPECT_TRUE(out["blas"]["provider"].is_null());
  EXPECT_TRUE(out["machine"]["memory_bytes"].is_null());
  EXPECT_TRUE(out["rows"].is_array());
  EXPECT_TRUE(out["warnings"].is_array());
  EXPECT_TRUE(out["blas"]["environment"].is_object());
  EXPECT_TRUE(out["pin"]["requested"].is_array());
}

}  // namespace
}  // namespace hwprof::report
