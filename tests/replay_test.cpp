// A program's own calls, chosen and made again.
#include "src/blas/ladder/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfenv>
#include <cstdlib>
#include <string>

#include "src/blas/ladder/replayed_call.h"
#include "src/observe/audit/float_flags.h"

namespace hwprof::blas {
namespace {

using observe::Shape;
using ::testing::HasSubstr;

report::CallSite site(const char* symbol, const report::CallShape& shape, double flops) {
  report::CallSite made;
  made.symbol = symbol;
  made.count = shape.count;
  made.flops = flops;
  made.shapes = {shape};
  return made;
}

report::CallShape shape(std::uint64_t m, std::uint64_t n, std::uint64_t k, std::uint64_t count) {
  return {.m = m, .n = n, .k = k, .count = count};
}

TEST(Replay, TakesTheShapesThatMakeUpTheWork) {
  report::Called called;
  called.calls = {site("dgemm_", shape(100, 100, 100, 100), 2e8),
                  site("sgemv_", shape(1000, 1, 1000, 10), 2e7),
                  site("dgemm_", shape(2, 2, 2, 10), 160)};
  called.calls[0].shapes[0].transposed_b = true;
  const Replay replay = plan_replay(called);
  ASSERT_EQ(replay.calls.size(), 2U) << replay.note;
  // FLOP on vectors wait for memory: they count tenfold.
  EXPECT_EQ(replay.calls[0].symbol, "dgemm_");
  EXPECT_EQ(replay.calls[0].shape, (Shape{100, 100, 100, observe::kTransposedB}));
  EXPECT_EQ(replay.calls[0].weight, 100);
  EXPECT_EQ(replay.calls[1].symbol, "sgemv_");
  EXPECT_GT(replay.covered, 0.99);
  EXPECT_EQ(replay.note, "2 shapes made again, 99 % of the work in calls");

  // By time, where it is known.
  called.calls[0].time_ns = 1e6;
  called.calls[1].time_ns = 3e6;
  called.calls[2].time_ns = 1e3;
  EXPECT_EQ(plan_replay(called).calls.front().symbol, "sgemv_");
  EXPECT_THAT(plan_replay(called).note, HasSubstr("of the time in calls"));
}

TEST(Replay, MakesAPartOfALargeCallAndWeighsItAsAll) {
  report::Called called;
  called.calls = {site("dgemm_", shape(1000, 2000, 1000, 3), 1.2e10)};
  Replay replay = plan_replay(called);
  ASSERT_EQ(replay.calls.size(), 1U);
  EXPECT_EQ(replay.calls[0].shape, (Shape{1000, 300, 1000}));
  EXPECT_NEAR(replay.calls[0].weight, 3 * 2000.0 / 300, 1e-9);
  EXPECT_EQ(replay.covered, 1);

  called.calls = {site("dgemm_", shape(20'000, 20'000, 20'000, 1), 1.6e13)};
  replay = plan_replay(called);
  ASSERT_EQ(replay.calls.size(), 1U);
  EXPECT_LE(replay.calls[0].shape.m, 1200U);
  EXPECT_GE(replay.calls[0].shape.k, 256U);

  called.calls = {site("dsyrk_", shape(10'000, 10'000, 10'000, 1), 1e12)};
  replay = plan_replay(called);
  EXPECT_TRUE(replay.calls.empty());
  EXPECT_EQ(replay.note, "no call has a shape to make it again");
}

TEST(Replay, SaysWhyThereIsNone) {
  report::Called called;
  EXPECT_EQ(plan_replay(called).note, "no call was seen");
  called.calls = {site("dgemm_", shape(100, 100, 100, 100), 2e8)};
  report::CallSite& unknown = called.calls.emplace_back();
  unknown.symbol = "dgemm_batch_";
  unknown.count = 4;
  EXPECT_TRUE(plan_replay(called).calls.empty());
  EXPECT_EQ(plan_replay(called).note, "of some calls, neither shape nor time are known");
  called.calls[0].time_ns = 1e6;
  called.calls[1].time_ns = 9e6;
  EXPECT_EQ(plan_replay(called).note, "the calls that can be made again are 10 % of the work");
  EXPECT_EQ(plan_replay(called).covered, 0);
}

TEST(Replay, PassesThroughTheArgumentOfAChild) {
  const std::vector<ReplayCall> calls = {{"sgemm_", {1, 2, 3, 5}, 7}, {"cblas_ddot", {1, 1, 9}, 1}};
  const auto parsed = parse_replay(replay_text(calls));
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->size(), 2U);
  EXPECT_EQ(parsed->front().symbol, "sgemm_");
  EXPECT_EQ(parsed->front().shape, calls.front().shape);
  EXPECT_EQ(parsed->front().weight, 7);
  EXPECT_TRUE(parse_replay("")->empty());
  for (const char* wrong : {"sgemm_", "sgemm_:1:2:3:4", "sgemm_:1:2:3:4:x", ";"}) {
    EXPECT_FALSE(parse_replay(wrong)) << wrong;
  }
}

TEST(Replay, KnowsThePlainNameOfARoutine) {
  for (const auto& [symbol, plain] :
       {std::pair("sgemm_", "sgemm_"), std::pair("scipy_cblas_sgemm64_", "cblas_sgemm"),
        std::pair("scipy_dsyr2k_64_", "dsyr2k_"), std::pair("cblas_zher2", "cblas_zher2"),
        std::pair("cgemm64_", "cgemm_")}) {
    const auto name = parse_routine_name(symbol);
    ASSERT_TRUE(name) << symbol;
    EXPECT_EQ(name->plain, plain);
  }
  EXPECT_FALSE(parse_routine_name("dnnl_sgemm"));
}

// A BLAS says of wrong arguments which it was, or crashes: every routine in every type, by both
// interfaces, on both sides and transposed.
TEST(ReplayedCall, IsARightCallOfEveryRoutine) {
  const auto library = BlasLibrary::load("libopenblas.so.0");
  ASSERT_TRUE(library) << library.error().what;
  library->set_threads(1);
  const struct {
    const char* operation;
    const char* types;
    Shape shape;
  } calls[] = {
      {"gemm", "sdcz", {5, 6, 7}}, {"symm", "sdcz", {5, 6, 5}}, {"hemm", "cz", {5, 6, 5}},
      {"syrk", "sdcz", {6, 6, 7}}, {"herk", "cz", {6, 6, 7}},   {"syr2k", "sdcz", {6, 6, 7}},
      {"her2k", "cz", {6, 6, 7}},  {"trmm", "sdcz", {5, 6, 5}}, {"trsm", "sdcz", {5, 6, 5}},
      {"gemv", "sdcz", {5, 1, 7}}, {"ger", "sd", {5, 6, 1}},    {"geru", "cz", {5, 6, 1}},
      {"gerc", "cz", {5, 6, 1}},   {"symv", "sd", {6, 1, 6}},   {"hemv", "cz", {6, 1, 6}},
      {"spmv", "sd", {6, 1, 6}},   {"hpmv", "cz", {6, 1, 6}},   {"trmv", "sdcz", {6, 1, 6}},
      {"trsv", "sdcz", {6, 1, 6}}, {"tpmv", "sdcz", {6, 1, 6}}, {"tpsv", "sdcz", {6, 1, 6}},
      {"syr", "sd", {6, 6, 1}},    {"her", "cz", {6, 6, 1}},    {"spr", "sd", {6, 6, 1}},
      {"hpr", "cz", {6, 6, 1}},    {"syr2", "sd", {6, 6, 1}},   {"her2", "cz", {6, 6, 1}},
      {"spr2", "sd", {6, 6, 1}},   {"hpr2", "cz", {6, 6, 1}},   {"dot", "sd", {1, 1, 9}},
      {"axpy", "sdcz", {1, 1, 9}},
  };
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  std::string failed;
  for (const auto& call : calls) {
    for (const char* type = call.types; *type != '\0'; ++type) {
      for (const bool in_c : {false, true}) {
        const std::string name = *type + std::string(call.operation);
        for (unsigned form = 0; form < 16; ++form) {
          Shape shape = call.shape;
          shape.form = form;
          if (!in_c && (form & observe::kRowMajor) != 0) continue;
          const bool sided = std::string(call.operation).ends_with("mm") && shape.k == 5;
          if ((form & observe::kRightSide) != 0) {
            if (!sided && std::string(call.operation) != "trsm") continue;
            shape.k = shape.n;
          }
          const auto made =
              ReplayedCall::prepare(*library, {in_c ? "cblas_" + name : name + "_", shape, 1});
          if (!made) {
            failed += name + ": " + made.error().what + "\n";
            continue;
          }
          for (int i = 0; i < 3; ++i) made->run();
          if (made->flops() <= 0) failed += name + " has no FLOP\n";
        }
      }
    }
  }
  std::fflush(nullptr);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(failed, "");
}

// By the flags that its arithmetic raises: a denormal operand, or products that are denormal, and
// neither with usual numbers.
TEST(ReplayedCall, ComputesWithTheMagnitudesThatItIsAskedFor) {
  if (!observe::audit::kTellsFloatFlags) GTEST_SKIP() << "no flags on this architecture";
  const auto library = BlasLibrary::load("libopenblas.so.0");
  ASSERT_TRUE(library) << library.error().what;
  library->set_threads(1);
  const auto flags_of = [&](const std::string& symbol, Magnitude magnitude) {
    const auto made = ReplayedCall::prepare(*library, {symbol, {40, 40, 700}, 1}, magnitude);
    EXPECT_TRUE(made) << symbol;
    if (!made) return observe::audit::FloatReport{};
    std::fesetenv(FE_DFL_ENV);
    made->run();
    const auto report = observe::audit::end_float_flags({.before = 0, .known = true});
    EXPECT_FALSE(report.invalid) << symbol;
    return report;
  };
  for (const char* symbol : {"sgemm_", "cblas_dgemm", "zgemm_", "csyrk_", "sgemv_", "ddot_"}) {
    EXPECT_TRUE(is_sum_of_products(symbol)) << symbol;
    EXPECT_FALSE(flags_of(symbol, Magnitude::kUsual).denormal) << symbol;
    EXPECT_TRUE(flags_of(symbol, Magnitude::kDenormalOperand).denormal) << symbol;
    EXPECT_TRUE(flags_of(symbol, Magnitude::kDenormalResults).denormal) << symbol;
  }
  for (const char* symbol : {"dtrsm_", "daxpy_", "dgbmv_", "dgetrf_"})
    EXPECT_FALSE(is_sum_of_products(symbol)) << symbol;
}

TEST(ReplayedCall, IsByThePlainNameWhereALibraryHasNoOther) {
  const auto library = BlasLibrary::load("libopenblas.so.0");
  ASSERT_TRUE(library) << library.error().what;
  EXPECT_TRUE(ReplayedCall::prepare(*library, {"scipy_cblas_sgemm64_", {4, 4, 4}, 1}));
  const auto none = ReplayedCall::prepare(*library, {"dgbmv_", {4, 4, 4}, 1});
  EXPECT_EQ(none.error().what, "dgbmv_ cannot be made again");
}

}  // namespace
}  // namespace hwprof::blas
