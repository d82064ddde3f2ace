// Where each routine has its dimensions, and how many operations they are: those of LAPACK's own
// timing programs (sopbl2.f and sopbl3.f, after Working Note 41).
#include "src/observe/routines/call_shape.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

#include "src/observe/routines/flop_count.h"

namespace hwprof::observe {
namespace {

// Letters as Fortran has them, numbers as they are; in the order of the arguments.
using Arguments = std::array<long, 7>;

bool shape_of_call(const std::string& symbol, const Arguments& arguments, Shape& shape) {
  Routine routine;
  if (!find_routine(symbol.c_str(), routine)) return false;
  const auto letter = [&](signed char position, unsigned char& value) {
    value = static_cast<unsigned char>(arguments.at(static_cast<std::size_t>(position)));
    return true;
  };
  const auto dimension = [&](signed char position, long& value) {
    value = arguments.at(static_cast<std::size_t>(position));
    return true;
  };
  return read_shape(routine, letter, dimension, shape);
}

double flops_of(const std::string& symbol, const Shape& shape) {
  Routine routine;
  return find_routine(symbol.c_str(), routine) ? flop_count(routine, shape) : -1;
}

struct Call {
  const char* operation;  // of Fortran, without type and underscore
  Arguments arguments;
  Shape shape;
  double multiplications, additions;
  const char* types = "sdcz";
};

const double m = 5, n = 6, k = 7;

const Call kCalls[] = {
    {"gemm", {'N', 'T', 5, 6, 7}, {5, 6, 7, kTransposedB}, m* n* k, m* n* k},
    {"gemm3m", {'c', 'n', 5, 6, 7}, {5, 6, 7, kTransposedA}, m* n* k, m* n* k, "cz"},
    {"gemmt", {'U', 'N', 'T', 6, 7}, {6, 6, 7, kTransposedB}, k* n*(n + 1) / 2, k* n*(n + 1) / 2},
    {"gemmtr", {'U', 'N', 'N', 6, 7}, {6, 6, 7, 0}, k* n*(n + 1) / 2, k* n*(n + 1) / 2},
    {"syrk", {'L', 'T', 6, 7}, {6, 6, 7, kTransposedA}, k* n*(n + 1) / 2, k* n*(n + 1) / 2},
    {"herk", {'L', 'C', 6, 7}, {6, 6, 7, kTransposedA}, k* n*(n + 1) / 2, k* n*(n + 1) / 2, "cz"},
    {"syr2k", {'L', 'N', 6, 7}, {6, 6, 7, 0}, k* n* n, k* n* n + n},
    {"her2k", {'L', 'N', 6, 7}, {6, 6, 7, 0}, k* n* n, k* n* n + n, "cz"},
    {"symm", {'L', 'U', 5, 6}, {5, 6, 5, 0}, m* m* n, m* m* n},
    {"symm", {'R', 'U', 5, 6}, {5, 6, 6, kRightSide}, m* n* n, m* n* n},
    {"hemm", {'r', 'U', 5, 6}, {5, 6, 6, kRightSide}, m* n* n, m* n* n, "cz"},
    {"trmm", {'L', 'U', 'N', 'N', 5, 6}, {5, 6, 5, 0}, n* m*(m + 1) / 2, n* m*(m - 1) / 2},
    {"trsm",
     {'R', 'U', 'T', 'N', 5, 6},
     {5, 6, 6, kRightSide | kTransposedA},
     m* n*(n + 1) / 2,
     m* n*(n - 1) / 2},
    {"gemv", {'T', 5, 7}, {5, 1, 7, kTransposedA}, m* k, m* k},
    {"ger", {5, 6}, {5, 6, 1, 0}, m* n, m* n, "sd"},
    {"geru", {5, 6}, {5, 6, 1, 0}, m* n, m* n, "cz"},
    {"gerc", {5, 6}, {5, 6, 1, 0}, m* n, m* n, "cz"},
    {"symv", {'U', 6}, {6, 1, 6, 0}, n* n, n* n},
    {"hemv", {'U', 6}, {6, 1, 6, 0}, n* n, n* n, "cz"},
    {"spmv", {'U', 6}, {6, 1, 6, 0}, n* n, n* n},
    {"hpmv", {'U', 6}, {6, 1, 6, 0}, n* n, n* n, "cz"},
    {"trmv", {'U', 'N', 'N', 6}, {6, 1, 6, 0}, n*(n + 1) / 2, n*(n - 1) / 2},
    {"trsv", {'U', 'T', 'N', 6}, {6, 1, 6, kTransposedA}, n*(n + 1) / 2, n*(n - 1) / 2},
    {"tpmv", {'U', 'N', 'N', 6}, {6, 1, 6, 0}, n*(n + 1) / 2, n*(n - 1) / 2},
    {"tpsv", {'U', 'N', 'N', 6}, {6, 1, 6, 0}, n*(n + 1) / 2, n*(n - 1) / 2},
    {"syr", {'U', 6}, {6, 6, 1, 0}, n*(n + 1) / 2, n*(n + 1) / 2},
    {"her", {'U', 6}, {6, 6, 1, 0}, n*(n + 1) / 2, n*(n + 1) / 2, "cz"},
    {"spr", {'U', 6}, {6, 6, 1, 0}, n*(n + 1) / 2, n*(n + 1) / 2},
    {"hpr", {'U', 6}, {6, 6, 1, 0}, n*(n + 1) / 2, n*(n + 1) / 2, "cz"},
    {"syr2", {'U', 6}, {6, 6, 1, 0}, n* n, n* n + n, "sd"},
    {"her2", {'U', 6}, {6, 6, 1, 0}, n* n, n* n + n, "cz"},
    {"spr2", {'U', 6}, {6, 6, 1, 0}, n* n, n* n + n, "sd"},
    {"hpr2", {'U', 6}, {6, 6, 1, 0}, n* n, n* n + n, "cz"},
};

TEST(ShapeOfACall, IsFoundInEveryRoutineOfBlas2And3) {
  for (const Call& call : kCalls) {
    for (const char* type = call.types; *type != '\0'; ++type) {
      const std::string symbol = *type + std::string(call.operation) + "_";
      Shape shape;
      ASSERT_TRUE(shape_of_call(symbol, call.arguments, shape)) << symbol;
      EXPECT_EQ(shape, call.shape) << symbol;
      const bool complex = *type == 'c' || *type == 'z';
      EXPECT_EQ(flops_of(symbol, shape), complex ? 6 * call.multiplications + 2 * call.additions
                                                 : call.multiplications + call.additions)
          << symbol;
    }
  }
}

// LAPACK's sopbla.f: a rotation takes four multiplications and two additions a pair.
TEST(ShapeOfACall, OfTwoVectorsIsTheirLength) {
  struct Vectors {
    const char* symbol;
    double flops;  // of 7 numbers
  };
  for (const Vectors& call : {Vectors{"dsdot_", 14},
                              {"snrm2_", 14},
                              {"scnrm2_", 28},
                              {"dznrm2_", 28},
                              {"dasum_", 7},
                              {"scasum_", 14},
                              {"sscal_", 7},
                              {"zscal_", 42},
                              {"csscal_", 14},
                              {"zdscal_", 14},
                              {"srot_", 42},
                              {"zdrot_", 84},
                              {"drotm_", 42},
                              {"ccopy_", 0},
                              {"dswap_", 0},
                              {"isamax_", 0},
                              {"izamax_", 0},
                              {"cblas_scnrm2", 28},
                              {"scipy_cblas_idamax64_", 0}}) {
    Shape shape;
    ASSERT_TRUE(shape_of_call(call.symbol, {7}, shape)) << call.symbol;
    EXPECT_EQ(shape, (Shape{1, 1, 7, 0})) << call.symbol;
    EXPECT_EQ(flops_of(call.symbol, shape), call.flops) << call.symbol;
  }
  Shape shape;
  ASSERT_TRUE(shape_of_call("sdsdot_", {7}, shape));
  Routine routine;
  for (const char* none : {"icopy_", "crot_", "cnrm2_", "iamax_", "scopy", "znrm2_"})
    EXPECT_FALSE(find_routine(none, routine)) << none;
}

// As MKL has them: beside the usual name, for the file that has both may mean the routine.
TEST(Routines, OtherSpellingsLeadToTheUsualName) {
  for (const auto& [name, usual] : {std::pair{"dgemm", "dgemm_"},
                                    {"DGEMM", "dgemm_"},
                                    {"DGEMM_", "dgemm_"},
                                    {"dgemm_64", "dgemm_64_"},
                                    {"IDAMAX", "idamax_"},
                                    {"sgemm_batch_strided", "sgemm_batch_strided_"}}) {
    Routine routine;
    bool bare = false;
    std::array<char, routine_names::kFortranBytes> found{};
    EXPECT_FALSE(find_routine(name, routine)) << name;
    ASSERT_TRUE(routine_names::usual_spelling(name, found.data())) << name;
    EXPECT_STREQ(found.data(), usual);
    const bool capitals = *name < 'a';
    EXPECT_EQ(find_spelling(name, routine, bare), !capitals) << name;
    EXPECT_EQ(bare, !capitals) << name;
    ASSERT_TRUE(find_routine(found.data(), routine)) << name;
  }
  std::array<char, routine_names::kFortranBytes> found{};
  for (const char* none : {"dgemm_", "Dgemm", "_dgemm", "", "BLAS_dgemm", "dgemm@1",
                           "a_name_that_is_longer_than_any_of_a_routine"}) {
    EXPECT_FALSE(routine_names::usual_spelling(none, found.data())) << none;
  }
}

// Counted by hand: an elimination of 3 x 3 takes 3 reciprocals, 2 + 1 products with them, and
// 4 + 1 products and differences.
TEST(ShapeOfACall, OfLapackIsItsMatrixAndItsRightHandSides) {
  struct Case {
    const char* symbol;
    Arguments arguments;
    Shape shape;
    double flops;
  };
  for (const Case& call : {Case{"dgetrf_", {3, 3}, {3, 3, 1, 0}, 16},
                           Case{"dgetrf_", {3, 2}, {3, 2, 1, 0}, 2 + 2 + 1 + 2 * 2},
                           Case{"dgetrf_", {2, 3}, {2, 3, 1, 0}, 2 + 1 + 2 * 2},
                           Case{"zgetrf_", {3, 3}, {3, 3, 1, 0}, 6 * 11 + 2 * 5},
                           Case{"dgetrs_", {'T', 3, 2}, {3, 2, 1, kTransposedA}, 2 * (9 + 6)},
                           Case{"sgesv_64_", {3, 2}, {3, 2, 1, 0}, 16 + 2 * (9 + 6)},
                           Case{"dpotrf_", {'U', 2}, {2, 2, 1, 0}, 2 + 1 + 1 + 1},
                           Case{"dpotrs_", {'U', 3, 2}, {3, 2, 1, 0}, 2 * (12 + 6)},
                           Case{"dposv_", {'L', 2, 1}, {2, 1, 1, 0}, 5 + 6 + 2},
                           Case{"dtrtri_", {'U', 'N', 2}, {2, 2, 1, 0}, 4 + 0}}) {
    Shape shape;
    ASSERT_TRUE(shape_of_call(call.symbol, call.arguments, shape)) << call.symbol;
    EXPECT_EQ(shape, call.shape) << call.symbol;
    EXPECT_NEAR(flops_of(call.symbol, shape), call.flops, 1e-9) << call.symbol;
  }
  Routine routine;
  ASSERT_TRUE(find_routine("zheevd_", routine));
  EXPECT_TRUE(routine.lapack && !routine.blas && routine.work == Work::kUnknown);
  EXPECT_FALSE(find_routine("cblas_dgesv", routine));
  EXPECT_FALSE(find_routine("dheevd_", routine));
}

TEST(ShapeOfACall, StandsBehindTheLayoutInC) {
  Shape shape;
  ASSERT_TRUE(shape_of_call("cblas_dgemm", {101, 111, 112, 5, 6, 7}, shape));
  EXPECT_EQ(shape, (Shape{5, 6, 7, kRowMajor | kTransposedB}));
  ASSERT_TRUE(shape_of_call("cblas_strsm", {102, 142, 121, 111, 131, 5, 6}, shape));
  EXPECT_EQ(shape, (Shape{5, 6, 6, kRightSide}));
  ASSERT_TRUE(shape_of_call("scipy_cblas_dsyrk64_", {102, 121, 111, 6, 7}, shape));
  EXPECT_EQ(shape, (Shape{6, 6, 7, 0}));
  ASSERT_TRUE(shape_of_call("cblas_ddot", {9}, shape));
  EXPECT_EQ(shape, (Shape{1, 1, 9, 0}));
  ASSERT_TRUE(shape_of_call("dnnl_sgemm", {'N', 'T', 5, 6, 7}, shape));
  EXPECT_EQ(shape, (Shape{5, 6, 7, 0}));
}

TEST(ShapeOfACall, ThatIsOnlyCountedHasNone) {
  Shape shape;
  for (const char* symbol : {"dgbmv_", "ssbmv_", "zhbmv_", "ctbmv_", "dtbsv_", "sgemm_batch_",
                             "cblas_dgemm_batch_strided", "zdotc_", "drotg_", "srotmg_"}) {
    Routine routine;
    EXPECT_TRUE(find_routine(symbol, routine)) << symbol;
    EXPECT_FALSE(shape_of_call(symbol, {'N', 'N', 5, 6, 7}, shape)) << symbol;
  }
}

// A BLAS refuses a wrong letter before it looks at what follows, which need not be there.
TEST(ShapeOfACall, IsReadNoFurtherThanABlasWould) {
  Routine routine;
  ASSERT_TRUE(find_routine("dtrsm_", routine));
  Shape shape;
  int looked = 0;
  const auto dimension_of_5 = [&](signed char, long& value) {
    ++looked;
    value = 5;
    return true;
  };
  for (const int wrong : {0, 2}) {  // side, transa
    const auto letter = [&](signed char position, unsigned char& value) {
      value = position == wrong ? 'x' : position == 0 ? 'L' : 'N';
      return true;
    };
    EXPECT_FALSE(read_shape(routine, letter, dimension_of_5, shape)) << wrong;
  }
  const auto no_letter = [](signed char, unsigned char&) { return false; };
  EXPECT_FALSE(read_shape(routine, no_letter, dimension_of_5, shape));
  EXPECT_EQ(looked, 0);

  const auto good = [](signed char position, unsigned char& value) {
    value = position == 0 ? 'L' : 'N';
    return true;
  };
  const auto negative = [&](signed char, long& value) {
    ++looked;
    value = -1;
    return true;
  };
  ASSERT_TRUE(read_shape(routine, good, negative, shape));
  EXPECT_EQ(looked, 1);
  EXPECT_EQ(shape, Shape{}) << "it multiplies nothing";
  EXPECT_EQ(flop_count(routine, shape), 0);
}

}  // namespace
}  // namespace hwprof::observe
