#include "src/blas/ladder/results.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace hwprof::blas {
namespace {

using Int = BlasLibrary::Int;

constexpr Int kSizes[][3] = {{1, 1, 1},    {2, 3, 5},    {7, 8, 9},    {15, 16, 17}, {16, 17, 15},
                             {17, 15, 16}, {31, 33, 64}, {33, 64, 31}, {64, 31, 33}, {65, 1, 65},
                             {1, 65, 63},  {48, 49, 47}, {97, 65, 40}, {40, 97, 65}, {8, 64, 300}};
constexpr Int kRandomSize[3] = {67, 51, 133};
constexpr Int kPadding = 3;  // elements behind each row, and before the first: nothing is aligned

// Not the library's: the same everywhere, so that hashes of two machines can be compared.
class Numbers {
 public:
  int integer() { return static_cast<int>(next() % 7) - 3; }
  double real() { return static_cast<double>(next() % 2'000'001) / 1e6 - 1; }

 private:
  std::uint64_t next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return state_ >> 33U;
  }
  std::uint64_t state_ = 1;
};

template <class Real>
struct PaddedMatrix {
  Int rows, columns, step;
  std::vector<Real> all;

  PaddedMatrix(Int of_rows, Int of_columns, Real fill)
      : rows(of_rows),
        columns(of_columns),
        step(columns + kPadding),
        all(static_cast<std::size_t>(1 + rows * step), fill) {}
  Real* data() { return all.data() + 1; }
  Real& at(Int row, Int column) { return data()[row * step + column]; }
};

template <class Real>
class ResultCheck {
 public:
  explicit ResultCheck(const BlasLibrary& library) : library_(library) {}

  // Fills, multiplies, and compares each element with the product in double precision. `finish`
  // changes A and B first; `tolerance` 0: exact.
  template <class Value, class Change>
  bool product(const Int (&size)[3], int transposes, double beta, double tolerance,
               const Value& value, const Change& change) {
    const auto [m, n, k] = size;
    const bool trans_a = (transposes & 1) != 0, trans_b = (transposes & 2) != 0;
    PaddedMatrix<Real> a(trans_a ? k : m, trans_a ? m : k, kPoison);
    PaddedMatrix<Real> b(trans_b ? n : k, trans_b ? k : n, kPoison);
    PaddedMatrix<Real> c(m, n, kPoison);
    for (PaddedMatrix<Real>* matrix : {&a, &b}) {
      for (Int i = 0; i < matrix->rows; ++i) {
        for (Int j = 0; j < matrix->columns; ++j) matrix->at(i, j) = static_cast<Real>(value());
      }
    }
    change(a, b);
    for (Int i = 0; beta != 0 && i < m; ++i) {
      for (Int j = 0; j < n; ++j) c.at(i, j) = static_cast<Real>(value());
    }
    PaddedMatrix<Real> before = c;
    multiply(trans_a, trans_b, size, static_cast<Real>(beta), a, b, c);
    hash(c);
    for (Int i = 0; i < m; ++i) {
      for (Int j = 0; j < n; ++j) {
        double expected = beta == 0 ? 0 : beta * static_cast<double>(before.at(i, j));
        for (Int p = 0; p < k; ++p) {
          expected += static_cast<double>(trans_a ? a.at(p, i) : a.at(i, p)) *
                      static_cast<double>(trans_b ? b.at(j, p) : b.at(p, j));
        }
        const double got = static_cast<double>(c.at(i, j));
        if (!same(got, expected, tolerance)) {
          return fails(size, transposes, beta,
                       fmt::format("element {}, {} is {}, not {}", j + 1, i + 1, got, expected));
        }
        c.at(i, j) = before.at(i, j);
      }
    }
    // NaN differs from itself: the bits are compared.
    if (std::memcmp(c.all.data(), before.all.data(), c.all.size() * sizeof(Real)) == 0) return true;
    return fails(size, transposes, beta, "it wrote beside the matrix");
  }

  [[nodiscard]] const std::string& wrong() const { return wrong_; }
  [[nodiscard]] std::uint64_t bits() const { return bits_; }

 private:
  static constexpr Real kPoison = std::numeric_limits<Real>::quiet_NaN();

  void multiply(bool trans_a, bool trans_b, const Int (&size)[3], Real beta, PaddedMatrix<Real>& a,
                PaddedMatrix<Real>& b, PaddedMatrix<Real>& c) {
    const auto [m, n, k] = size;
    if constexpr (std::is_same_v<Real, float>) {
      library_.sgemm(trans_a, trans_b, m, n, k, 1, a.data(), a.step, b.data(), b.step, beta,
                     c.data(), c.step);
    } else {
      library_.dgemm(trans_a, trans_b, m, n, k, 1, a.data(), a.step, b.data(), b.step, beta,
                     c.data(), c.step);
    }
  }

  static bool same(double got, double expected, double tolerance) {
    if (std::isnan(expected)) return std::isnan(got);
    if (std::isinf(expected)) return got == expected;
    return std::abs(got - expected) <= tolerance;
  }

  // FNV-1a. The payload and sign of a NaN are nobody's promise, so NaN counts as one value.
  void hash(PaddedMatrix<Real>& c) {
    for (Int i = 0; i < c.rows; ++i) {
      for (Int j = 0; j < c.columns; ++j) {
        const Real value = std::isnan(c.at(i, j)) ? kPoison : c.at(i, j);
        unsigned char bytes[sizeof(Real)];
        std::memcpy(bytes, &value, sizeof value);
        for (const unsigned char byte : bytes) bits_ = (bits_ ^ byte) * 1099511628211U;
      }
    }
  }

  // The library was asked for C' = B' A'.
  bool fails(const Int (&size)[3], int transposes, double beta, const std::string& what) {
    wrong_ = fmt::format("{}gemm, m={} n={} k={}, trans {}{}, beta {}: {}",
                         std::is_same_v<Real, float> ? 's' : 'd', size[1], size[0], size[2],
                         (transposes & 2) != 0 ? 'T' : 'N', (transposes & 1) != 0 ? 'T' : 'N', beta,
                         what);
    return false;
  }

  const BlasLibrary& library_;
  std::string wrong_;
  std::uint64_t bits_ = 14695981039346656037U;
};

// As far as the first product that is wrong.
template <class Real>
void check_all(ResultCheck<Real>& check) {
  Numbers numbers;
  const auto integer = [&] { return numbers.integer(); };
  const auto real = [&] { return numbers.real(); };
  const auto as_it_is = [](auto&, auto&) {};
  int turn = 0;  // each size with two of the four transposes, and once on what C held
  for (const auto& size : kSizes) {
    ++turn;
    if (!check.product(size, turn % 4, 0, 0, integer, as_it_is)) return;
    if (!check.product(size, 3 - turn % 4, 1, 0, integer, as_it_is)) return;
  }
  // Each sum has at most k terms of at most 1, each rounded once as a product and once as a sum.
  const double tolerance = 2 * static_cast<double>(kRandomSize[2]) *
                           static_cast<double>(std::numeric_limits<Real>::epsilon());
  for (int transposes = 0; transposes < 4; ++transposes) {
    if (!check.product(kRandomSize, transposes, 0, tolerance, real, as_it_is)) return;
  }
  // Nothing is zero: some libraries leave out what a zero of B would multiply.
  const auto positive = [&] { return 2 + numbers.integer() % 2; };
  constexpr Int kSize[3] = {17, 33, 19};
  for (const Real special :
       {std::numeric_limits<Real>::quiet_NaN(), std::numeric_limits<Real>::infinity()}) {
    const auto put = [special](auto& a, auto&) { a.at(a.rows / 2, a.columns / 2) = special; };
    if (!check.product(kSize, 0, 0, 0, positive, put)) return;
  }
}

}  // namespace

report::Results check_results(const BlasLibrary& library) {
  ResultCheck<float> single(library);
  check_all(single);
  ResultCheck<double> twice(library);
  if (single.wrong().empty()) check_all(twice);
  report::Results results;
  results.wrong = single.wrong().empty() ? twice.wrong() : single.wrong();
  results.right = results.wrong.empty();
  results.bits = fmt::format("{:016x}", single.bits() ^ (twice.bits() * 3));
  return results;
}

}  // namespace hwprof::blas
