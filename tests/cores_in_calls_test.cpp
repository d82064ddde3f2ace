#include "src/blas/evidence/cores_in_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/blas/evidence/executed.h"
#include "src/blas/evidence/lines.h"

namespace hwprof::blas {
namespace {

using ::testing::HasSubstr;

constexpr double kHz = 1000;  // a sample a millisecond of CPU time
constexpr const char* kProgram = "/bin/program";
constexpr const char* kBlas = "/lib/libblas.so.3";
constexpr const char* kLapack = "/lib/liblapack.so.3";
constexpr const char* kOneDnn = "/lib/libdnnl.so.2";

observe::CallKind kind(std::uint64_t number, std::string symbol, std::string library,
                       std::string caller, double time_ms) {
  observe::CallKind kind;
  kind.number = number;
  kind.symbol = std::move(symbol);
  kind.library = std::move(library);
  kind.caller = std::move(caller);
  kind.flops = 1e9;
  kind.count = 1;
  kind.time_ns = 1e6 * time_ms;
  return kind;
}

report::CallSite site(std::string symbol, std::string library, std::string caller) {
  report::CallSite site;
  site.symbol = std::move(symbol);
  site.library = std::move(library);
  site.caller = std::move(caller);
  site.count = 1;
  return site;
}

report::PreparedCall convolution(std::string shape) {
  report::PreparedCall call;
  call.kind = "convolution";
  call.direction = "forward_training";
  call.type = "f32";
  call.shape = std::move(shape);
  call.library = kOneDnn;
  call.caller = kProgram;
  call.count = 1;
  return call;
}

// Two lines, with samples of each kind.
observe::LineProfile profile(const std::map<std::uint64_t, double>& first,
                             const std::map<std::uint64_t, double>& second = {}) {
  observe::LineProfile profile;
  for (const auto& samples : {first, second}) {
    observe::LineSamples& line = profile.lines.emplace_back();
    for (const auto& [number, count] : samples) {
      line.calls[number] = {.samples = count, .own_samples = count, .inverse_ns = count};
      line.self += count;
      profile.samples += count;
    }
  }
  return profile;
}

TEST(CoresInCalls, AreSamplesOfAllThreadsOverTheTimeOfTheCalls) {
  report::Called called;
  called.calls = {site("sgemm_", kBlas, kProgram), site("sgemm_", kBlas, kLapack)};
  // Two shapes of one site; the other site made calls of the same routine.
  const std::vector<observe::CallKind> kinds = {kind(1, "sgemm_", kBlas, kProgram, 100),
                                                kind(2, "sgemm_", kBlas, kProgram, 20),
                                                kind(3, "sgemm_", kBlas, kLapack, 50)};
  add_cores(profile({{1, 100}, {3, 50}}, {{1, 90}, {2, 26}}), kinds, kHz, called);
  EXPECT_DOUBLE_EQ(called.calls[0].cores.value_or(0), 1.8);  // 216 ms of CPU time in 120 ms
  EXPECT_DOUBLE_EQ(called.calls[1].cores.value_or(0), 1);
}

TEST(CoresInCalls, OfTooFewSamplesAreNotSaid) {
  report::Called called;
  called.calls = {site("sgemm_", kBlas, kProgram), site("dgemm_", kBlas, kProgram)};
  const std::vector<observe::CallKind> kinds = {kind(1, "sgemm_", kBlas, kProgram, 19),
                                                kind(2, "dgemm_", kBlas, kProgram, 20)};
  add_cores(profile({{1, 19}, {2, 20}}), kinds, kHz, called);
  EXPECT_EQ(called.calls[0].cores, std::nullopt);
  EXPECT_DOUBLE_EQ(called.calls[1].cores.value_or(0), 1);
}

// The samples lie in the inner calls: what is left of the outer one would be few cores, and a rate
// of many times the peak.
TEST(CoresInCalls, OfCallsThatMakeOthersAreNotSaid) {
  const std::vector<observe::CallKind> kinds = {kind(1, "dgetrf_", kLapack, kProgram, 200),
                                                kind(2, "dgemm_", kBlas, kLapack, 150)};
  const observe::LineProfile sampled = profile({{1, 50}, {2, 150}});
  report::Called called;
  called.calls = {site("dgetrf_", kLapack, kProgram), site("dgemm_", kBlas, kLapack)};
  add_cores(sampled, kinds, kHz, called);
  EXPECT_EQ(called.calls[0].cores, std::nullopt);
  EXPECT_DOUBLE_EQ(called.calls[1].cores.value_or(0), 1);

  const Lines lines = lines_of(sampled, kinds, kHz, {});
  ASSERT_EQ(lines.lines[0].calls.size(), 2U);
  for (const report::LineCall& call : lines.lines[0].calls)
    EXPECT_EQ(call.cores.has_value(), call.routine == "dgemm_") << call.routine;
}

TEST(CoresInCalls, OfPreparedWorkAreThoseOfItsShape) {
  report::Called called;
  called.primitives = {convolution("large"), convolution("small")};
  std::vector<observe::CallKind> kinds;
  for (const auto& [number, shape] : {std::pair(1, "large"), std::pair(2, "small")}) {
    observe::CallKind one = kind(static_cast<std::uint64_t>(number), "convolution forward_training",
                                 kOneDnn, kProgram, 100);
    one.prepared = convolution(shape);
    one.prepared->library = one.prepared->caller = "";  // of the call, not of the work
    kinds.push_back(std::move(one));
  }
  add_cores(profile({{1, 190}, {2, 100}}), kinds, kHz, called);
  EXPECT_DOUBLE_EQ(called.primitives[0].cores.value_or(0), 1.9);
  EXPECT_DOUBLE_EQ(called.primitives[1].cores.value_or(0), 1);
}

TEST(CoresInCalls, GiveAFractionOfThePeakOfAsMany) {
  report::BlasEvidence evidence;
  evidence.achieved_rate.core_peak_gflops = 100;
  report::CallSite product = site("sgemm_", kBlas, kProgram);
  product.flops = 1e9;
  product.time_ns = 1e7;  // 100 GFLOP/s
  evidence.called.calls = {product, product};
  evidence.called.calls[0].cores = 2;
  report::PreparedCall primitive = convolution("large");
  primitive.flops = 1e9;
  primitive.time_ns = 1e7;
  evidence.called.primitives = {primitive, primitive};
  evidence.called.primitives[0].cores = 2.5;
  add_call_rates(evidence, false);
  EXPECT_DOUBLE_EQ(evidence.called.calls[0].peak_fraction.value_or(0), 0.5);
  EXPECT_EQ(evidence.called.calls[1].peak_fraction, std::nullopt);
  EXPECT_THAT(evidence.called.calls[1].peak_fraction_reason, HasSubstr("--lines tells"));
  EXPECT_DOUBLE_EQ(evidence.called.primitives[0].peak_fraction.value_or(0), 0.4);
  EXPECT_EQ(evidence.called.primitives[1].peak_fraction, std::nullopt);
  EXPECT_THAT(evidence.called.primitives[1].peak_fraction_reason, HasSubstr("--lines tells"));
}

}  // namespace
}  // namespace hwprof::blas
