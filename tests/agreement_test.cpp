#include "src/measure/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hwprof {
namespace {

using report::Row;
using testing::ElementsAre;
using testing::HasSubstr;

Row row(std::string op, std::string variant, double cost_units, double roofline_ns,
        double time_ns) {
  Row row;
  row.op = std::move(op);
  row.variant = std::move(variant);
  row.optimised = row.variant != "reference";
  row.model.cost_units = cost_units;
  row.roofline_ns = roofline_ns;
  row.bound = report::Bound::kCompute;
  row.shape = {{"k", 2}};
  report::TimeNs time;
  time.median = time_ns;
  time.min = time_ns * 0.99;
  time.ci95_low = time_ns * 0.98;
  time.ci95_high = time_ns * 1.02;
  row.time_ns = time;
  return row;
}

const std::vector<report::PassVariants> kPasses = {
    {"reference", {{"conv1d", "reference"}, {"maxpool", "reference"}, {"linear", "reference"}}},
    {"simd", {{"conv1d", "simd"}, {"maxpool", "simd"}, {"linear", "simd"}}}};

std::vector<Row> good_rows() {
  return {row("conv1d", "reference", 9e6, 5e4, 9e6),   row("conv1d", "simd", 9e6, 5e4, 6e4),
          row("maxpool", "reference", 16e3, 800, 5e4), row("maxpool", "simd", 16e3, 800, 900),
          row("linear", "reference", 13e3, 100, 2e4),  row("linear", "simd", 13e3, 100, 150)};
}

report::Complexity judge(std::vector<Row> rows, std::optional<double> blas_factor = {}) {
  const auto passes = forward_passes(rows, kPasses);
  set_forward_shares(rows, passes);
  return complexity_agreement(rows, passes, blas_factor);
}

TEST(Agreement, SameOrderAndNearTheRooflineAgrees) {
  const report::Complexity result = judge(good_rows());
  EXPECT_EQ(result.agrees, true);
  EXPECT_EQ(result.pass, "simd");
  EXPECT_THAT(result.findings, ElementsAre());
  ASSERT_EQ(result.rows.size(), 3U);
  EXPECT_NEAR(result.rows[0].time_share.value_or(-1), 6e4 / (6e4 + 900 + 150), 1e-12);
  EXPECT_NEAR(result.rows[0].model_share, 9e6 / (9e6 + 16e3 + 13e3), 1e-12);
  EXPECT_NEAR(result.rows[0].roofline_share.value_or(-1), 5e4 / (5e4 + 800 + 100), 1e-12);
}

TEST(Agreement, AReversedOrderIsNamed) {
  std::vector<Row> rows = good_rows();
  rows[5] = row("linear", "simd", 13e3, 1000, 2000);
  const report::Complexity result = judge(rows);
  EXPECT_EQ(result.agrees, false);
  EXPECT_THAT(result.findings, ElementsAre(HasSubstr("maxpool costs 1.23 times the units of "
                                                     "linear but takes 0.45 of its time")));
}

TEST(Agreement, AnOrderThatTheIntervalsLeaveOpenIsNoDisagreement) {
  std::vector<Row> rows = good_rows();
  rows[5] = row("linear", "simd", 13e3, 800, 910);
  EXPECT_EQ(judge(rows).agrees, true);
}

TEST(Agreement, AVariantFarFromItsRooflineIsNamedWithTheCause) {
  std::vector<Row> rows = good_rows();
  rows.push_back(row("conv1d", "blas-im2col", 9e6, 5e4, 2e5));
  EXPECT_THAT(judge(rows).findings, ElementsAre(HasSubstr("conv1d blas-im2col takes 4.0 times its "
                                                          "roofline time: im2col writes")));
  EXPECT_THAT(judge(rows, 1.9).findings,
              ElementsAre(HasSubstr("the BLAS runs 1.9 times slower than it could")));
}

TEST(Agreement, TheNaiveReferenceMayBeAsSlowAsItLikes) {
  std::vector<Row> rows = good_rows();
  rows[0] = row("conv1d", "reference", 9e6, 5e4, 9e9);
  EXPECT_EQ(judge(rows).agrees, true);
}

TEST(Agreement, WithoutAWholeForwardPassNothingIsJudged) {
  std::vector<Row> rows = good_rows();
  rows.resize(4);  // no linear layer
  const report::Complexity result = judge(rows);
  EXPECT_EQ(result.agrees, std::nullopt);
  EXPECT_THAT(result.text, HasSubstr("not judged"));
}

TEST(Agreement, AnUnmeasuredLayerMakesItsPassIncomplete) {
  std::vector<Row> rows = good_rows();
  rows[5].time_ns.reset();
  const auto passes = forward_passes(rows, kPasses);
  ASSERT_EQ(passes.size(), 1U);
  EXPECT_EQ(passes[0].name, "reference");
}

TEST(Agreement, SharesOfAPassAddUpToOneOverSeveralFilterSizes) {
  std::vector<Row> rows = good_rows();
  rows.push_back(row("conv1d", "simd", 18e6, 1e5, 1.2e5));
  rows.push_back(row("maxpool", "simd", 16e3, 800, 900));
  const auto passes = forward_passes(rows, kPasses);
  set_forward_shares(rows, passes);
  double sum = 0;
  for (const Row& r : rows) sum += r.pass == "simd" ? *r.forward_share : 0;
  EXPECT_NEAR(sum, 1, 1e-12);
}

}  // namespace
}  // namespace hwprof
