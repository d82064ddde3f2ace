// oneDNN writes its kernels when a primitive is made: code that is no file's. Made before the
// region, and in it.
#include <dlfcn.h>

#include <oneapi/dnnl/dnnl.hpp>
#include <utility>

#include "tests/exact_setup.h"

namespace hwprof::exact {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

constexpr memory::dim kRows = 24, kInner = 32, kColumns = 16;

class ExactOnednn : public testing::Test {
 protected:
  ExactOnednn() {
    // The library's threads are OpenMP's; only one can be counted.
    if (auto* set = reinterpret_cast<void (*)(int)>(::dlsym(RTLD_DEFAULT, "omp_set_num_threads")))
      set(1);
  }
  [[nodiscard]] dnnl::matmul product() const {
    const auto floats = [](memory::dim rows, memory::dim columns) {
      return memory::desc({rows, columns}, memory::data_type::f32, Tag::ab);
    };
    const dnnl::matmul::desc wanted(floats(kRows, kInner), floats(kInner, kColumns),
                                    floats(kRows, kColumns));
    return dnnl::matmul(dnnl::matmul::primitive_desc(wanted, cpu_));
  }
  void run(const dnnl::matmul& product) {
    const auto of = [&](std::vector<float>& numbers, memory::dim rows, memory::dim columns) {
      return memory({{rows, columns}, memory::data_type::f32, Tag::ab}, cpu_, numbers.data());
    };
    product.execute(stream_, {{DNNL_ARG_SRC, of(a_, kRows, kInner)},
                              {DNNL_ARG_WEIGHTS, of(b_, kInner, kColumns)},
                              {DNNL_ARG_DST, of(c_, kRows, kColumns)}});
    stream_.wait();
  }

  static constexpr std::uint64_t kModel = 2ULL * kRows * kInner * kColumns;
  dnnl::engine cpu_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{cpu_};
  std::vector<float> a_ = std::vector<float>(kRows * kInner, 0.5F);
  std::vector<float> b_ = std::vector<float>(kInner * kColumns, 0.25F);
  std::vector<float> c_ = std::vector<float>(kRows * kColumns);
};

TEST_F(ExactOnednn, KernelsThatWereWrittenBefore) {
  SKIP_WITHOUT_EXACT();
  const dnnl::matmul made = product();
  run(made);
  const std::vector<float> native = std::exchange(c_, std::vector<float>(c_.size()));
  const auto blocks = counts_of([&] { run(made); }, Engine::kBlocks);
  ASSERT_TRUE(blocks) << blocks.error().what;
  EXPECT_EQ(c_, native);
  const auto steps = counts_of([&] { run(made); }, Engine::kSteps);
  ASSERT_TRUE(steps) << steps.error().what;
  // Of its kernels: around them the library does not do the same each time, by either count.
  EXPECT_EQ(blocks->flops.at(static_cast<std::size_t>(Precision::kSingle)),
            steps->flops.at(static_cast<std::size_t>(Precision::kSingle)));
  EXPECT_EQ(blocks->lanes_of(Operation::kFma), steps->lanes_of(Operation::kFma));
  EXPECT_EQ(c_[0], 0.5F * 0.25F * kInner);
  EXPECT_GE(blocks->flops_of(Precision::kSingle), kModel);
  EXPECT_LE(blocks->flops_of(Precision::kSingle), kModel + kModel / 2) << "padding, sums of lanes";
}

TEST_F(ExactOnednn, KernelsThatAreWrittenInTheRegion) {
  SKIP_WITHOUT_EXACT();
  run(product());
  std::fill(c_.begin(), c_.end(), 0.0F);
  const auto counted = count([&] { run(product()); });
  ASSERT_TRUE(counted) << counted.error().what;
  EXPECT_EQ(c_[0], 0.5F * 0.25F * kInner);
  EXPECT_GE(counted->counts.flops_of(Precision::kSingle), kModel);
}

}  // namespace
}  // namespace hwprof::exact
