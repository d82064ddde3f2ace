// Primitives of oneDNN: what each does, by which kernel, how often, and how many operations it is.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <string>

#include "src/observe/calls/prepared_calls.h"
#include "tests/called_setup.h"

namespace hwprof::blas {
namespace {

using observe::PreparedWork;
using observe::TensorShape;
using report::PreparedCall;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const PreparedCall* find(const report::Called& called, const std::string& routine) {
  for (const PreparedCall& call : called.primitives)
    if (routine_of(call) == routine) return &call;
  return nullptr;
}

TEST(CalledOneDnn, TellsWhatEachPrimitiveOfARealOneDoes) {
#ifndef ONEDNN_CALLS
  GTEST_SKIP() << "no oneDNN 2 to compile a program with (scripts/setup test)";
#else
  const auto [called, status] = blas::watch(Way::kAudit, {ONEDNN_CALLS});
  ASSERT_EQ(status, 0);
  const PreparedCall* forward = find(called, "convolution forward_training");
  const PreparedCall* backward = find(called, "convolution backward_data");
  const PreparedCall* product = find(called, "matmul");
  const PreparedCall* relu = find(called, "eltwise forward_inference");
  ASSERT_TRUE(forward != nullptr && backward != nullptr && product != nullptr && relu != nullptr);
  EXPECT_EQ(forward->count, 30U);
  EXPECT_EQ(forward->shape, "4x8x20x20 * 16x8x3x3 -> 4x16x18x18");
  EXPECT_EQ(forward->type, "f32");
  EXPECT_THAT(forward->implementation,
              AnyOf(HasSubstr("jit"), HasSubstr("gemm"), HasSubstr("ref"), HasSubstr("acl")));
  EXPECT_EQ(forward->flops, 30 * 2.0 * (4 * 16 * 18 * 18) * (8 * 3 * 3));
  EXPECT_GT(rate_of(*forward).value_or(0), 0);
  EXPECT_EQ(backward->count, 20U);
  EXPECT_EQ(backward->shape, forward->shape);
  EXPECT_EQ(backward->flops, *forward->flops * 20 / 30);
  EXPECT_EQ(product->count, 10U);
  EXPECT_EQ(product->shape, "32x64 * 64x16 -> 32x16");
  EXPECT_EQ(product->flops, 10 * 2.0 * 32 * 64 * 16);
  EXPECT_EQ(relu->count, 7U);
  EXPECT_EQ(relu->shape, "4x16x18x18");
  EXPECT_FALSE(relu->flops);
  double share = 0;
  for (const PreparedCall& call : called.primitives) share += call.time_share.value_or(0);
  EXPECT_NEAR(share, 1, 1e-9);
  // Together they are what the verdict knows of.
  const auto site = of_symbol(called, "dnnl_primitive_execute");
  ASSERT_EQ(site.size(), 1U);
  EXPECT_EQ(site[0].count, 67U);
#endif
}

TEST(CalledOneDnn, ReadsTheOpaqueTensorsOfVersion3) {
  const auto [called, status] = blas::watch(Way::kAudit, {ODD_ONEDNN_CALLS});
  ASSERT_EQ(status, 0);
  const PreparedCall* convolution = find(called, "convolution backward");
  ASSERT_NE(convolution, nullptr);
  const auto grouped = std::find_if(
      called.primitives.begin(), called.primitives.end(),
      [](const PreparedCall& call) { return call.shape == "2x6x9x9 * 3x4x2x3x3 -> 2x12x7x7"; });
  ASSERT_NE(grouped, called.primitives.end());
  EXPECT_EQ(grouped->count, 100U);
  EXPECT_EQ(grouped->implementation, "jit:avx512_core");
  EXPECT_EQ(grouped->flops, 100 * 2.0 * (2 * 12 * 7 * 7) * (2 * 3 * 3));
}

// Nine dimensions, a name without an end, no primitive at all, more kinds of work than there is
// room for: each call is counted.
TEST(CalledOneDnn, CountsWhatItCannotName) {
  const auto [called, status] = blas::watch(Way::kAudit, {ODD_ONEDNN_CALLS});
  ASSERT_EQ(status, 0);
  const PreparedCall* odd = find(called, "a kind of primitive with backward");
  ASSERT_NE(odd, nullptr);
  EXPECT_EQ(odd->count, 50U);
  EXPECT_EQ(odd->shape, "?");
  EXPECT_FALSE(odd->flops);
  const PreparedCall* unknown = find(called, "");
  ASSERT_NE(unknown, nullptr);
  EXPECT_GE(unknown->count, 10U);
  EXPECT_THAT(unknown->reason, Not(IsEmpty()));
  std::uint64_t all = 0;
  for (const PreparedCall& call : called.primitives) all += call.count;
  EXPECT_EQ(all, 6160U);
}

TensorShape tensor(std::initializer_list<long> sizes) {
  TensorShape shape{};
  for (const long size : sizes) shape.sizes[shape.dimensions++] = size;
  return shape;
}

PreparedWork work_of(const char* kind, const TensorShape& source, const TensorShape& weights,
                     const TensorShape& result) {
  PreparedWork work{};
  std::copy_n(kind, std::char_traits<char>::length(kind), work.kind);
  work.source = source;
  work.weights = weights;
  work.result = result;
  return work;
}

TEST(FlopOfAPrimitive, AreTwoAProduct) {
  const auto flops = [](const char* kind, const TensorShape& source, const TensorShape& weights,
                        const TensorShape& result) {
    return observe::flop_count(work_of(kind, source, weights, result),
                               observe::Prepared::kPrimitive);
  };
  EXPECT_EQ(flops("convolution", tensor({2, 3, 5}), tensor({4, 3, 2}), tensor({2, 4, 4})),
            2.0 * (2 * 4 * 4) * (3 * 2));
  EXPECT_EQ(flops("convolution", tensor({2, 6, 5}), tensor({3, 2, 2, 2}), tensor({2, 6, 4})),
            2.0 * (2 * 6 * 4) * (2 * 2));
  // Each number of the source goes into as many of the result.
  EXPECT_EQ(flops("deconvolution", tensor({2, 3, 4}), tensor({4, 3, 2}), tensor({2, 4, 5})),
            2.0 * (2 * 3 * 4) * (4 * 2));
  EXPECT_EQ(flops("inner_product", tensor({2, 3, 4}), tensor({5, 3, 4}), tensor({2, 5})),
            2.0 * 2 * 5 * 12);
  EXPECT_EQ(flops("matmul", tensor({7, 2, 3}), tensor({7, 3, 4}), tensor({7, 2, 4})),
            2.0 * 7 * 2 * 3 * 4);
  EXPECT_FALSE(flops("reorder", tensor({2, 3}), tensor({2, 3}), tensor({2, 3})));
  // A size that only the call tells.
  EXPECT_FALSE(flops("matmul", tensor({-1, 3}), tensor({3, 4}), tensor({-1, 4})));
  EXPECT_EQ(flops("convolution", tensor({2, 3, 5}), tensor({0, 3, 2}), tensor({2, 0, 4})), 0);
  EXPECT_EQ(flops("convolution", tensor({2}), tensor({1}), tensor({2})), 0);
}

// What the watched program may write there.
TEST(PreparedCallsOfATable, AreReadWhateverTheyHold) {
  using namespace observe;
  const auto table = std::make_unique<audit::Table>();
  table->files[0].state = table->sites[0].state = audit::kReady;
  table->files[0].path[0] = 'x';
  std::copy_n("dnnl_primitive_execute", 23, table->sites[0].symbol);
  const auto put = [&](std::uint32_t place, std::uint32_t site, const PreparedWork& work,
                       std::uint64_t count) {
    audit::PreparedCalls& calls = table->prepared[place];
    calls.state = audit::kReady;
    calls.site = site;
    calls.work = work;
    calls.counted.count = calls.counted.returned = count;
    calls.counted.ticks = 1000;
  };
  const PreparedWork product = work_of("matmul", tensor({2, 3}), tensor({3, 4}), tensor({2, 4}));
  put(5, 0, product, 3);
  put(4095, 0, product, 4);  // another thread was about to write the same
  PreparedWork wild = product;
  std::fill_n(reinterpret_cast<char*>(&wild), sizeof wild, '\x7f');
  put(6, 0, wild, 1);
  put(7, 77, product, 9);          // of a site that there is not
  put(8, 4'000'000'000, wild, 9);  // nor there
  table->long_calls = 2;
  table->calls[1] = {.number = 1, .began = 1, .ended = 9, .site = 0, .slot = 260 + 5, .thread = 1};
  table->calls[2] = {.number = 2, .began = 2, .ended = 9, .site = 0, .slot = ~0U, .thread = 1};
  LongCalls long_calls;
  long_calls.read(*table);
  const AuditedCalls found = read_audited_calls(*table, long_calls, {.ns_per_tick = 0.5});
  ASSERT_EQ(found.primitives.size(), 2U);
  EXPECT_EQ(found.primitives[0].kind, "matmul");
  EXPECT_EQ(found.primitives[0].count, 7U);
  EXPECT_EQ(found.primitives[0].time_ns, 1000);
  EXPECT_EQ(found.primitives[0].flops, 7 * 48);
  EXPECT_EQ(found.primitives[1].kind, std::string(24, '\x7f'));
  EXPECT_EQ(found.primitives[1].shape, "");
  ASSERT_EQ(found.sites.size(), 1U);
  EXPECT_EQ(found.sites[0].count, 8U);
  EXPECT_EQ(found.kinds.size(), 3U);
  ASSERT_EQ(found.spans.size(), 2U);
  EXPECT_THAT(found.spans[0].name, HasSubstr("matmul"));
  EXPECT_EQ(found.spans[1].name, "dnnl_primitive_execute");
}

}  // namespace
}  // namespace hwprof::blas
