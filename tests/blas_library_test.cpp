#include "kernels/blas_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <vector>

#include "tests/temporary_file.h"

namespace hwprof {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// What the test suite needs installed (scripts/setup): an OpenBLAS. The reference may be missing.
constexpr const char* kOpenBlas = "libopenblas.so.0";

std::string reference_path() {
  for (const char* path : {"/usr/lib/x86_64-linux-gnu/blas/libblas.so.3",
                           "/usr/lib/aarch64-linux-gnu/blas/libblas.so.3"}) {
    if (fs::exists(path)) return path;
  }
  return "";
}

// Row-major, by the definition.
template <class Real>
std::vector<Real> product(bool trans_a, bool trans_b, int m, int n, int k,
                          const std::vector<Real>& a, int lda, const std::vector<Real>& b,
                          int ldb) {
  std::vector<Real> c(static_cast<std::size_t>(m * n));
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      for (int l = 0; l < k; ++l) {
        c[i * n + j] += (trans_a ? a[l * lda + i] : a[i * lda + l]) *
                        (trans_b ? b[j * ldb + l] : b[l * ldb + j]);
      }
    }
  }
  return c;
}

// Small integers: exact in any order of summation.
template <class Real>
std::vector<Real> integers(std::size_t count, int seed) {
  std::vector<Real> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<Real>(static_cast<int>(i * 7 + seed) % 11 - 5);
  }
  return values;
}

void expect_products(const BlasLibrary& library) {
  constexpr int kM = 5, kN = 7, kK = 3;
  for (const bool trans_a : {false, true}) {
    for (const bool trans_b : {false, true}) {
      const int lda = (trans_a ? kM : kK) + 2, ldb = (trans_b ? kK : kN) + 1;
      const auto a = integers<float>(100, 1), b = integers<float>(100, 4);
      std::vector<float> c(kM * kN, 1.F);
      auto expected = product(trans_a, trans_b, kM, kN, kK, a, lda, b, ldb);
      for (float& value : expected) value = 2 * value - 3;
      library.sgemm(trans_a, trans_b, kM, kN, kK, 2.F, a.data(), lda, b.data(), ldb, -3.F, c.data(),
                    kN);
      EXPECT_EQ(c, expected) << "sgemm " << trans_a << trans_b;

      const auto da = integers<double>(100, 2), db = integers<double>(100, 5);
      std::vector<double> dc(kM * kN, -1.);
      library.dgemm(trans_a, trans_b, kM, kN, kK, 1., da.data(), lda, db.data(), ldb, 0., dc.data(),
                    kN);
      EXPECT_EQ(dc, product(trans_a, trans_b, kM, kN, kK, da, lda, db, ldb)) << "dgemm";
    }
  }
  const auto a = integers<float>(100, 3), x = integers<float>(kK, 6);
  std::vector<float> y(kM, 1.F);
  library.sgemv(kM, kK, 1.F, a.data(), kK + 1, x.data(), 1.F, y.data());
  auto expected = product(false, false, kM, 1, kK, a, kK + 1, x, 1);
  for (float& value : expected) value += 1;
  EXPECT_EQ(y, expected) << "sgemv";
}

TEST(BlasLibrary, MultipliesRowMajorMatricesWithOpenBlas) {
  const auto library = BlasLibrary::load(kOpenBlas);
  ASSERT_TRUE(library) << library.error().what;
  EXPECT_EQ(library->requested(), kOpenBlas);
  EXPECT_THAT(library->path(), HasSubstr("/libopenblas"));
  expect_products(*library);
  EXPECT_TRUE(library->set_threads(1));
}

TEST(BlasLibrary, MultipliesRowMajorMatricesWithTheReference) {
  if (reference_path().empty()) GTEST_SKIP() << "libblas3 is not installed";
  const auto library = BlasLibrary::load(reference_path());
  ASSERT_TRUE(library) << library.error().what;
  EXPECT_EQ(library->path(), fs::canonical(reference_path()));
  expect_products(*library);
  EXPECT_FALSE(library->set_threads(1)) << "the reference has no threads to set";
}

TEST(BlasLibrary, FindsWhatTheLoaderGivesByDefault) {
  const auto library = BlasLibrary::load("");
  ASSERT_TRUE(library) << library.error().what;
  EXPECT_EQ(library->requested(), "");
  EXPECT_THAT(library->path(), ::testing::StartsWith("/"));
}

TEST(BlasLibrary, DoesNotSeeSymbolsOfAnotherMappedBlas) {
  if (reference_path().empty()) GTEST_SKIP() << "libblas3 is not installed";
  const auto openblas = BlasLibrary::load(kOpenBlas);
  ASSERT_TRUE(openblas);
  EXPECT_NE(openblas->symbol("openblas_get_config"), nullptr);
  const auto reference = BlasLibrary::load(reference_path());
  ASSERT_TRUE(reference);
  EXPECT_EQ(reference->symbol("openblas_get_config"), nullptr);
}

TEST(BlasLibrary, FollowsALibraryThatOnlyDependsOnABlas) {
  const auto lapack = BlasLibrary::load("liblapack.so.3");
  if (!lapack) GTEST_SKIP() << lapack.error().what;
  EXPECT_THAT(lapack->path(), ::testing::Not(HasSubstr("liblapack")));
}

struct Refusal {
  std::string path, what;
};

TEST(BlasLibrary, SaysWhyAFileIsNoBlas) {
  const std::string foreign = [] {
    std::string header(64, '\0');
    header.replace(0, 7,
                   "\x7f"
                   "ELF\x02\x01\x01");
    header[16] = 3;                                     // shared object
    header.replace(18, 2, std::string("\xf3\x00", 2));  // RISC-V
    return header;
  }();
  const TemporaryFile text("hello, I am a text\n"), empty(""), archive("!<arch>\nlibblas.o/"),
      other(foreign),
      cut("\x7f"
          "ELF");
  for (const Refusal& refusal : {
           Refusal{"/no/such/libblas.so", "No such file"},
           Refusal{testing::TempDir(), "is a directory"},
           Refusal{text.path(), "not an ELF file"},
           Refusal{empty.path(), "not an ELF file"},
           Refusal{archive.path(), "static archive"},
           Refusal{other.path(), "is built for another architecture"},
           Refusal{cut.path(), "not an ELF file"},
           Refusal{"libno-such-blas.so.9", "libno-such-blas.so.9"},
           Refusal{"libm.so.6", "is not a BLAS"},
       }) {
    const auto library = BlasLibrary::load(refusal.path);
    ASSERT_FALSE(library) << refusal.path;
    EXPECT_EQ(library.error().fault, Fault::kUsage) << refusal.path;
    EXPECT_THAT(library.error().what, HasSubstr(refusal.what));
    EXPECT_FALSE(library.error().hint.empty()) << refusal.path;
  }
}

TEST(BlasLibrary, RefusesALibraryWhoseProductIsWrong) {
  const auto library = BlasLibrary::load(FAKE_BLAS);
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().fault, Fault::kUsage);
  EXPECT_THAT(library.error().what, HasSubstr("gets the product of two small matrices wrong"));
  EXPECT_THAT(library.error().what, HasSubstr("fake_blas"));
}

}  // namespace
}  // namespace hwprof
