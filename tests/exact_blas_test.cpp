// Products of OpenBLAS on each core type that this CPU can run: by blocks and by steps, output
// bit-identical, and the numbers that are known of its version 0.3.21. A core type is chosen when
// the library is loaded, so each has a process of its own.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>

#include "kernels/blas_library.h"
#include "src/own_openblas_path.h"
#include "tests/exact_setup.h"

extern char** environ;

namespace hwprof::exact {
namespace {

// What an sgemm of N x N x N executes beyond 2 N^3, in per cent, by core type.
constexpr std::array kSizes = {33, 64, 100, 128, 256, 1024};
struct Excess {
  double low, high;
};
constexpr Excess known(double percent) { return {percent - 0.006, percent + 0.006}; }
constexpr Excess kAt33{3.0, 3.75}, kAt100{0.95, 1.35};
struct KnownCore {
  const char* name;
  std::array<Excess, kSizes.size()> excess;
};
constexpr std::array kCores = {
    KnownCore{"Prescott", {kAt33, known(1.56), kAt100, known(0.78), known(0.78), known(0.78)}},
    KnownCore{"Haswell", {kAt33, known(1.70), kAt100, known(0.83), known(0.40), known(0.40)}},
    KnownCore{"Zen", {kAt33, known(1.70), kAt100, known(0.83), known(0.40), known(0.40)}},
    KnownCore{"SkylakeX", {kAt33, known(0.78), kAt100, known(0.78), known(0.39), known(0.29)}}};

bool runs_here(const std::string& core) {
  if (core == "Haswell" || core == "Zen")
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (core == "SkylakeX")
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq");
  return true;
}

// The project's own, else the machine's.
Result<BlasLibrary> open_blas() {
  if (::access(HWPROF_OWN_OPENBLAS, R_OK) == 0) return BlasLibrary::load(HWPROF_OWN_OPENBLAS);
  return BlasLibrary::load("");
}

using Text = const char* (*)();
std::string text_of(const BlasLibrary& blas, const char* symbol) {
  const auto function = reinterpret_cast<Text>(blas.symbol(symbol));
  return function == nullptr ? "" : function();
}

template <class Number>
std::vector<Number> random_numbers(std::size_t size) {
  std::mt19937 generator(static_cast<unsigned>(size));
  std::uniform_real_distribution<Number> uniform(Number(0.1), Number(1));
  std::vector<Number> values(size);
  for (Number& value : values) value = uniform(generator);
  return values;
}

void multiply(const BlasLibrary& blas, BlasLibrary::Int n, const float* a, const float* b,
              float* c) {
  blas.sgemm(false, false, n, n, n, 1, a, n, b, n, 0, c, n);
}
void multiply(const BlasLibrary& blas, BlasLibrary::Int n, const double* a, const double* b,
              double* c) {
  blas.dgemm(false, false, n, n, n, 1, a, n, b, n, 0, c, n);
}

// By blocks twice, and by steps where those are few: they take 12 us each.
template <class Number>
Counts counts_of_product(const BlasLibrary& blas, std::size_t n) {
  constexpr std::uint64_t kStepped = 150'000;
  const std::vector<Number> a = random_numbers<Number>(n * n), b = random_numbers<Number>(n * n);
  std::vector<Number> c(n * n), counted_c(n * n);
  const auto run = [&](std::vector<Number>& to) {
    multiply(blas, static_cast<BlasLibrary::Int>(n), a.data(), b.data(), to.data());
  };
  run(c);
  const auto counted_run = [&] { run(counted_c); };
  EXPECT_TRUE(counts_of(counted_run, Engine::kBlocks));
  EXPECT_EQ(std::memcmp(c.data(), counted_c.data(), c.size() * sizeof(Number)), 0);
  const Result<Counts> first = counts_of(counted_run, Engine::kBlocks);
  const Result<Counts> again = counts_of(counted_run, Engine::kBlocks);
  if (!first || !again) {
    ADD_FAILURE() << (first ? again : first).error().what;
    return {};
  }
  EXPECT_EQ(*again, *first) << "twice is the same";
  if (first->instructions > kStepped) return *first;
  const Result<Counts> steps = counts_of(counted_run, Engine::kSteps);
  if (!steps) ADD_FAILURE() << steps.error().what;
  if (steps) {
    EXPECT_EQ(*steps, *first);
  }
  return *first;
}

// 2 MNK, a pass over C for each panel of K, and what sums of lanes add.
void expect_close_to_the_model(std::uint64_t flops, std::size_t n) {
  EXPECT_GE(flops, 2 * n * n * n);
  EXPECT_LE(static_cast<double>(flops),
            2.02 * static_cast<double>(n * n * n) + 2. * static_cast<double>(n * n));
}

// A filter of tests that matches nothing is a success, too.
constexpr int kAllEqual = 42;

// Called by the test below only.
TEST(ExactBlasOfOneCoreType, DISABLED_CountsItsProducts) {
  const Result<BlasLibrary> blas = open_blas();
  ASSERT_TRUE(blas) << blas.error().what;
  const std::string core = std::getenv("OPENBLAS_CORETYPE");
  ASSERT_EQ(text_of(*blas, "openblas_get_corename"), core);
  const bool is_known = text_of(*blas, "openblas_get_config").starts_with("OpenBLAS 0.3.21 ");
  const auto row = std::find_if(kCores.begin(), kCores.end(),
                                [&](const KnownCore& each) { return each.name == core; });
  ASSERT_NE(row, kCores.end());
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    const auto n = static_cast<std::size_t>(kSizes.at(i));
    SCOPED_TRACE(testing::Message() << core << ", N = " << n);
    const Counts single = counts_of_product<float>(*blas, n);
    expect_close_to_the_model(single.flops_of(Precision::kSingle), n);
    const double percent = 100. * (static_cast<double>(single.flops_of(Precision::kSingle)) /
                                       static_cast<double>(2 * n * n * n) -
                                   1);
    if (is_known) {
      EXPECT_GE(percent, row->excess.at(i).low);
      EXPECT_LE(percent, row->excess.at(i).high);
    }
    if (is_known && core == "Haswell" && n == 128) {
      EXPECT_EQ(single.flops_at(Width::k256), 4229056U);
    }
    if (n > 256) continue;
    const Counts both = counts_of_product<double>(*blas, n);
    expect_close_to_the_model(both.flops_of(Precision::kDouble), n);
    EXPECT_EQ(both.flops_of(Precision::kSingle), 0U);
  }
  if (!HasFailure()) std::_Exit(kAllEqual);
}

TEST(ExactBlas, ProductsOfEachCoreTypeAreEqualByStepsAndAsKnown) {
  SKIP_WITHOUT_EXACT();
  {
    const Result<BlasLibrary> blas = open_blas();
    if (!blas) GTEST_SKIP() << blas.error().what;
    if (blas->symbol("openblas_get_corename") == nullptr) GTEST_SKIP() << "needs an OpenBLAS";
  }
  // Shards are of this process.
  ::unsetenv("GTEST_TOTAL_SHARDS");
  ::unsetenv("GTEST_SHARD_INDEX");
  for (const KnownCore& core : kCores) {
    if (!runs_here(core.name)) continue;
    SCOPED_TRACE(core.name);
    ::setenv("OPENBLAS_CORETYPE", core.name, 1);
    ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
    std::string program = "/proc/self/exe";
    std::string filter = "--gtest_filter=ExactBlasOfOneCoreType.*";
    std::string all = "--gtest_also_run_disabled_tests";
    std::array<char*, 4> arguments = {program.data(), filter.data(), all.data(), nullptr};
    pid_t child = -1;
    ASSERT_EQ(::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments.data(), environ),
              0);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kAllEqual) << status;
  }
  ::unsetenv("OPENBLAS_CORETYPE");
}

}  // namespace
}  // namespace hwprof::exact
