#include "src/measure/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/complexity.h"
#include "src/measure/roofline.h"

namespace hwprof {
namespace {

using report::Row;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

Row row(std::string op, std::string variant, double cost_units, double roofline_ns,
        double time_ns) {
  Row row;
  row.op = std::move(op);
  row.variant = std::move(variant);
  row.optimised = row.variant != "reference";
  row.model.cost_units = cost_units;
  (row.op == "maxpool" ? row.model.comparisons : row.model.flops) =
      row.op == "maxpool" ? cost_units : 2 * cost_units;
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
    {"simd", {{"conv1d", "simd"}, {"maxpool", "simd"}, {"linear", "simd"}}},
    {"blas-im2col", {{"conv1d", "blas-im2col"}, {"maxpool", "simd"}, {"linear", "blas-gemm"}}}};

std::vector<Row> good_rows() {
  return {row("conv1d", "reference", 9e6, 5e4, 9e6),   row("conv1d", "simd", 9e6, 5e4, 6e4),
          row("maxpool", "reference", 16e3, 800, 5e4), row("maxpool", "simd", 16e3, 800, 900),
          row("linear", "reference", 13e3, 100, 2e4),  row("linear", "simd", 13e3, 100, 150)};
}

report::Complexity judge(std::vector<Row> rows) {
  const auto passes = forward_passes(rows, kPasses);
  set_forward_shares(rows, passes);
  return complexity_agreement(rows, passes);
}

TEST(Agreement, EachLayerNearItsCeilingAgrees) {
  const report::Complexity result = judge(good_rows());
  EXPECT_EQ(result.agrees, true);
  EXPECT_EQ(result.pass, "simd");
  EXPECT_THAT(result.findings, IsEmpty());
  ASSERT_EQ(result.rows.size(), 3U);
  EXPECT_NEAR(result.rows[0].time_share.value_or(-1), 6e4 / (6e4 + 900 + 150), 1e-12);
  EXPECT_NEAR(result.rows[0].model_share, 9e6 / (9e6 + 16e3 + 13e3), 1e-12);
  EXPECT_NEAR(result.rows[0].roofline_share.value_or(-1), 5e4 / (5e4 + 800 + 100), 1e-12);
  EXPECT_NEAR(result.rows[0].ceiling_factor.value_or(-1), 6e4 / 5e4, 1e-12);
}

// --shape l=130: the linear layer then costs more units than the pooling and still takes less time,
// since a comparison is no multiply-add.
TEST(Agreement, ComparisonsAreNotPutInAnOrderWithMultiplyAdds) {
  std::vector<Row> rows = good_rows();
  rows[5] = row("linear", "simd", 17e3, 130, 190);
  EXPECT_EQ(judge(rows).agrees, true);
  rows[5] = row("linear", "simd", 13e3, 900, 1100);
  EXPECT_EQ(judge(rows).agrees, true);
}

TEST(Agreement, ALayerFarFromItsCeilingDoesNotAgree) {
  std::vector<Row> rows = good_rows();
  rows[5] = row("linear", "simd", 13e3, 100, 1000);
  const report::Complexity result = judge(rows);
  EXPECT_EQ(result.agrees, false);
  EXPECT_THAT(result.findings, ElementsAre("linear simd takes 10 times the time of its ceiling"));
  EXPECT_THAT(result.text, HasSubstr("does not agree"));
}

TEST(Agreement, WhatNeighboursSlowedDownIsNotJudged) {
  auto rows = good_rows();
  rows[3] = row("maxpool", "simd", 16e3, 800, 3500);
  rows[3].time_ns->min = 1500;
  const report::Complexity result = judge(rows);
  EXPECT_EQ(result.agrees, std::nullopt);
  EXPECT_THAT(result.text, HasSubstr("its fastest call 1.88 times"));
}

TEST(Agreement, AnIntervalOverTheLimitIsNotJudged) {
  std::vector<Row> rows = good_rows();
  rows[5] = row("linear", "simd", 13e3, 100, 298);
  const report::Complexity result = judge(rows);
  EXPECT_EQ(result.agrees, std::nullopt);
  EXPECT_THAT(result.text, AllOf(StartsWith("not judged: linear simd takes 2.98 times"),
                                 HasSubstr("2.92 to 3.04: on both sides of 3, the limit;")));
}

TEST(Agreement, WhatIsFasterThanItsCeilingSaysThatTheCeilingIsWrong) {
  std::vector<Row> rows = good_rows();
  rows[3] = row("maxpool", "simd", 16e3, 4000, 900);
  const report::Complexity result = judge(rows);
  EXPECT_EQ(result.agrees, std::nullopt);
  EXPECT_THAT(result.text, HasSubstr("the ceiling is too low"));
}

// A slow BLAS, and copies that only other passes make.
TEST(Agreement, OtherVariantsNeverChangeTheAnswer) {
  std::vector<Row> rows = good_rows();
  rows.push_back(row("conv1d", "blas-im2col", 9e6, 5e4, 2e6));
  rows.push_back(row("linear", "blas-gemm", 13e3, 100, 4e4));
  const report::Complexity result = judge(rows);
  EXPECT_EQ(result.agrees, true) << result.text;
  EXPECT_EQ(result.pass, "simd");
  ASSERT_THAT(result.far, SizeIs(2));
  EXPECT_EQ(result.far[0].variant, "blas-im2col");
  EXPECT_NEAR(result.far[0].factor, 40, 1e-9);
  EXPECT_THAT(result.far[0].causes, IsEmpty()) << "none was measured";
}

TEST(Agreement, TheNaiveReferenceMayBeAsSlowAsItLikes) {
  std::vector<Row> rows = good_rows();
  rows[0] = row("conv1d", "reference", 9e6, 5e4, 9e9);
  EXPECT_EQ(judge(rows).agrees, true);
  EXPECT_THAT(judge(rows).far, IsEmpty());
}

// The time of a convolution that runs at 0.8 of a peak of 100 GFLOP/s, judged by `cost`.
report::Complexity judged_by(const Cost& cost) {
  const Cost right = conv1d_cost(2, 300, 128, 64 * 124, 64 * 123);
  report::Peak peak;
  peak.f32_gflops = 100;
  report::Bandwidth memory;
  memory.level = "memory";
  memory.working_set_bytes = 1 << 30;
  memory.read_gbs = memory.copy_gbs = memory.triad_gbs = 10;
  peak.bandwidth = {memory};
  peak.bandwidth_by_size = {memory};
  Row conv = row("conv1d", "simd", cost.cost_units, roofline(cost, peak).ns,
                 right.flops / (0.8 * peak.f32_gflops));
  conv.model = cost;
  const std::vector<report::PassVariants> pass = {{"simd", {{"conv1d", "simd"}}}};
  return complexity_agreement({conv}, forward_passes({conv}, pass));
}

TEST(Agreement, AModelWithoutAFactorIsNoticed) {
  const Cost right = conv1d_cost(2, 300, 128, 64 * 124, 64 * 123);
  EXPECT_EQ(judged_by(right).agrees, true) << judged_by(right).text;
  const Cost without_d_e = conv1d_cost(2, 1, 128, 64 * 124, 64 * 123);
  EXPECT_EQ(judged_by(without_d_e).agrees, false);
  Cost units_only = right;
  units_only.cost_units /= 300;
  EXPECT_EQ(judged_by(units_only).agrees, false);
  EXPECT_THAT(judged_by(units_only).findings, ElementsAre(HasSubstr("lacks a factor")));
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

TEST(Agreement, APassHasTheIntervalOfItsLayers) {
  std::vector<Row> rows = good_rows();
  const auto passes = forward_passes(rows, kPasses);
  ASSERT_EQ(passes.size(), 2U);
  EXPECT_NEAR(passes[1].low_ns.value_or(-1), 0.98 * (6e4 + 900 + 150), 1e-6);
  EXPECT_NEAR(passes[1].high_ns.value_or(-1), 1.02 * (6e4 + 900 + 150), 1e-6);
  rows[1].time_ns->ci95_low.reset();
  EXPECT_FALSE(forward_passes(rows, kPasses)[1].low_ns);
}

TEST(Agreement, OnlySeparatedPassesHaveAWinner) {
  const auto pass = [](const char* name, double ns, double off) {
    report::ForwardPass made;
    made.name = name;
    made.time_ns = ns;
    made.low_ns = ns - off;
    made.high_ns = ns + off;
    return made;
  };
  EXPECT_THAT(report::fastest_passes({}), IsEmpty());
  EXPECT_THAT(report::fastest_passes({pass("simd", 13, 1), pass("blas", 11, 0.5)}), SizeIs(1));
  const auto both = report::fastest_passes(
      {pass("simd", 13, 2), pass("blas", 11, 10), pass("reference", 600, 1)});
  ASSERT_THAT(both, SizeIs(2));
  EXPECT_EQ(both[0].name, "blas");
  report::ForwardPass without = pass("simd", 13, 1);
  without.low_ns.reset();
  EXPECT_THAT(report::fastest_passes({without, pass("blas", 11, 0.5)}), SizeIs(2));
  without.time_ns = 500;  // of one slice: nobody takes that for the 11
  EXPECT_THAT(report::fastest_passes({without, pass("blas", 11, 0.5)}), SizeIs(1));
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

// Twenty slices that alternate, block by block, by `spread` around 1000 ns.
Row row_of_blocks(report::Bound bound, double spread) {
  Row made = row("conv1d", "simd", 9e6, 5e4, 1000);
  made.bound = bound;
  for (int i = 0; i < 20; ++i) {
    report::Slice slice;
    slice.ns = 1000 * (1 + (i / 2 % 2 == 0 ? spread : -spread));
    made.time_ns->slices.push_back(slice);
  }
  return made;
}

// The printed interval holds what runs differ by, so it is never narrow: the width of the row's own
// blocks is what the reader can act on.
TEST(WideRows, OnlyBeyondWhatRunsDifferByAnyway) {
  const auto text = [](report::Bound bound, double spread) {
    return wide_rows_text({row_of_blocks(bound, spread)}, "--time-budget 1 is short");
  };
  EXPECT_EQ(text(report::Bound::kCompute, 0.05), "");
  EXPECT_EQ(text(report::Bound::kCompute, 0.12),
            "of 1 measured rows, 1 varies within this run by more than such runs differ by anyway: "
            "the machine is noisy or --time-budget 1 is short");
  EXPECT_EQ(text(report::Bound::kMemory, 0.12), "");
  EXPECT_NE(text(report::Bound::kMemory, 0.4), "");
}

TEST(WideRows, TooFewSlicesAreNoNoise) {
  Row made = row_of_blocks(report::Bound::kCompute, 0);
  Row unmeasured = made;
  unmeasured.time_ns.reset();
  made.time_ns->slices.resize(1);
  made.time_ns->ci95_low = made.time_ns->ci95_high = std::nullopt;
  EXPECT_EQ(wide_rows_text({made, unmeasured, row_of_blocks(report::Bound::kCompute, 0)},
                           "--time-budget 1 is short"),
            "");
}

TEST(Causes, OnlyWhatWasMeasuredIsACause) {
  report::FarVariant far;
  far.time_ns = 1e5;
  EXPECT_THAT(causes_of(far, {}), IsEmpty());
  EXPECT_THAT(causes_of(far, {.blas_factor = 1.2, .call_ns = 5e3, .copy_ns = 9e3}), IsEmpty())
      << "too little to matter";
  EXPECT_THAT(causes_of(far, {.blas_factor = 40, .call_ns = 6e4, .copy_ns = 3e4}),
              ElementsAre(HasSubstr("40 times faster (ladder)"),
                          AllOf(HasSubstr("copy of im2col"), HasSubstr("30 %")),
                          AllOf(HasSubstr("fixed cost"), HasSubstr("60 %"))));
}

}  // namespace
}  // namespace hwprof
