#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "src/report/data/writers.h"
#include "tests/sample_profile.h"

namespace hwprof::report {
namespace {

using Record = std::vector<std::string>;

// RFC 4180 with plain newlines: what any reader of CSV does.
std::vector<Record> parse(const std::string& text) {
  std::vector<Record> records(1, Record(1));
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    std::string& field = records.back().back();
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      field += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      records.back().emplace_back();
    } else if (c == '\n' && !quoted) {
      records.emplace_back(1);
    } else {
      field += c;
    }
  }
  records.pop_back();
  return records;
}

std::vector<std::map<std::string, std::string>> rows_of(const Profile& profile) {
  const auto records = parse(profile_csv(profile));
  std::vector<std::map<std::string, std::string>> rows;
  for (std::size_t i = 1; i < records.size(); ++i) {
    EXPECT_EQ(records[i].size(), records[0].size());
    auto& row = rows.emplace_back();
    for (std::size_t j = 0; j < records[0].size(); ++j) row[records[0][j]] = records[i][j];
  }
  return rows;
}

TEST(Csv, ColumnNamesAreDistinct) {
  const Record header = parse(profile_csv(sample_profile())).front();
  EXPECT_EQ(std::set<std::string>(header.begin(), header.end()).size(), header.size());
}

TEST(Csv, NumbersParseBackExactly) {
  const Profile profile = sample_profile();
  auto rows = rows_of(profile);
  ASSERT_EQ(rows.size(), profile.rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = profile.rows[i];
    auto& got = rows[i];
    const auto expect = [&](const char* column, const std::optional<double>& value) {
      ASSERT_EQ(got.count(column), 1u) << column;
      ASSERT_EQ(got[column].empty(), !value) << column;
      if (value) {
        EXPECT_EQ(std::stod(got[column]), *value) << column;
      }
    };
    EXPECT_EQ(got["op"], row.op);
    EXPECT_EQ(got["variant"], row.variant);
    expect("calls", static_cast<double>(row.calls));
    expect("threads", row.threads);
    expect("model_flops_per_call", row.model.flops);
    expect("model_comparisons_per_call", row.model.comparisons);
    expect("model_bytes_per_call", row.model.bytes);
    expect("model_cost_units_per_call", row.model.cost_units);
    expect("gflops", row.gflops);
    expect("peak_fraction", row.peak_fraction);
    expect("peak_fraction_low", row.peak_fraction_low);
    expect("peak_fraction_high", row.peak_fraction_high);
    expect("intensity_flop_per_byte", row.intensity);
    expect("roofline_ns", row.roofline_ns);
    expect("roofline_fraction", row.roofline_fraction);
    expect("forward_share", row.forward_share);
    expect("max_rel_error", row.max_rel_error);
    expect("peak_gflops", profile.peak->f32_gflops);
    expect("blas_factor", profile.blas.factor);
    if (!row.time_ns) {
      expect("time_median_ns", {});
      EXPECT_EQ(got["reason"], row.reason);
      continue;
    }
    expect("time_median_ns", row.time_ns->median);
    expect("time_min_ns", row.time_ns->min);
    expect("time_mean_ns", row.time_ns->mean);
    expect("time_ci95_low_ns", *row.time_ns->ci95_low);
    expect("time_ci95_high_ns", *row.time_ns->ci95_high);
    expect("time_slices", row.time_ns->samples);
    expect("task-clock_ns_per_call", row.counters[0].value);
    expect("task-clock_ns_total", row.counters[0].total);
    expect("instructions_per_call", row.counters[1].value);
    expect("instructions_coverage", 0.617);
    expect("llc-miss_per_call", {});
    EXPECT_EQ(got["llc-miss_status"], "unsupported");
    EXPECT_EQ(got["flops_status"], "denied");
    EXPECT_EQ(got["flops_reason"], row.counters[4].reason);
  }
}

TEST(Csv, CommasAndQuotesAreQuoted) {
  Profile profile = sample_profile();
  profile.machine.cpu_name = "a \"b\", c";
  EXPECT_EQ(rows_of(profile)[0]["cpu"], "a \"b\", c");
  EXPECT_NE(profile_csv(profile).find("\"a \"\"b\"\", c\""), std::string::npos);
}

TEST(Csv, OneLineARowWhateverTheNames) {
  Profile profile = sample_profile();
  profile.machine.cpu_name = "two\nlines\r\n";
  EXPECT_EQ(parse(profile_csv(profile)).size(), profile.rows.size() + 1);
  const std::string text = profile_csv(profile);
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')),
            profile.rows.size() + 1);
}

TEST(Csv, EmptyRecordIsAHeader) { EXPECT_EQ(parse(profile_csv(Profile{})).size(), 1u); }

}  // namespace
}  // namespace hwprof::report
