// Calls with denormal numbers, NaN and infinity, and a program's own floating-point environment
// around them. One kind a process, named by the first word; exit 0: all was as it is alone.
#include <fenv.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

// NOLINTBEGIN(readability-identifier-naming): names of a BLAS
extern "C" {
void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*,
            const float*, const int*, const float*, const int*, const float*, float*, const int*);
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*,
            const double*, const int*, const double*, const int*, const double*, double*,
            const int*);
void zgemm_(const char*, const char*, const int*, const int*, const int*, const double*,
            const double*, const int*, const double*, const int*, const double*, double*,
            const int*);
void dgemv_(const char*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*);
void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int,
                 double, double*, int);
void cblas_dtrsm(int, int, int, int, int, int, int, double, const double*, int, double*, int);
}
// NOLINTEND(readability-identifier-naming)

namespace {

constexpr float kSmallest = std::numeric_limits<float>::min();
constexpr float kDenormal = std::numeric_limits<float>::denorm_min() * 64;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A product of two numbers.
void product(float x, float y) {
  const int one = 1;
  const float scale = 1;
  float result = 0;
  sgemm_("N", "N", &one, &one, &one, &scale, &x, &one, &y, &one, &scale, &result, &one);
}

// The flag of denormal operands has no name in C.
int flags() {
  int raised = fetestexcept(FE_INVALID | FE_UNDERFLOW | FE_OVERFLOW | FE_DIVBYZERO);
#if defined(__x86_64__)
  raised |= static_cast<int>(_mm_getcsr() & _MM_EXCEPT_DENORM) << 16;
#endif
  return raised;
}

void clear_flags() {
  feclearexcept(FE_ALL_EXCEPT);
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() & ~static_cast<unsigned>(_MM_EXCEPT_MASK));
#endif
}

// What the call itself would raise, and what was raised before, in every order.
bool flags_are_kept() {
  const struct {
    float x, y;
  } kinds[] = {{2, 3}, {kDenormal, 3}, {kInfinity, 0}, {kSmallest, kSmallest}, {2, 3}};
  for (const auto& before : kinds) {
    for (const auto& call : kinds) {
      clear_flags();
      const volatile float x = before.x, u = call.x;
      [[maybe_unused]] const volatile float first = x * before.y, second = u * call.y;
      const int alone = flags();
      clear_flags();
      [[maybe_unused]] const volatile float again = x * before.y;
      product(call.x, call.y);
      if (flags() != alone) return false;
    }
  }
  return true;
}

// 4 with denormal numbers, 2 without a number, 5 of none of these.
bool numbers() {
  for (int i = 0; i < 3; ++i) product(kDenormal, 3);
  product(kSmallest, kSmallest);
  for (int i = 0; i < 2; ++i) product(kInfinity, 0);
  for (int i = 0; i < 5; ++i) product(2, 3);
  return true;
}

// All that is met is allowed, and what was raised before must not trap now.
bool traps() {
  product(kDenormal, 3);
  [[maybe_unused]] const volatile float before = kInfinity, product_before = before * 0;
  const int raised = flags();
  if (feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW) < 0) return true;  // not on this CPU
  for (int i = 0; i < 3; ++i) product(kDenormal, 3);
  if (flags() != raised) return false;
  signal(SIGFPE, [](int) { ::_exit(0); });
  product(kInfinity, 0);
  return false;  // it does trap, as it would alone
}

bool flush() {
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040);
  const unsigned state = _mm_getcsr();
  for (int i = 0; i < 6; ++i) product(kDenormal, 3);
  product(kSmallest, kSmallest);
  return ((_mm_getcsr() ^ state) & ~static_cast<unsigned>(_MM_EXCEPT_MASK)) == 0;
#else
  return true;
#endif
}

void dgemm(int m, int n, int k, const double* a, int lda, const double* b, int ldb) {
  const double scale = 1;
  double result = 0;
  dgemm_("N", "N", &m, &n, &k, &scale, a, &lda, b, &ldb, &scale, &result, &m);
}

// Each of another shape, so that it is the first of it and looked at.
bool operands() {
  double good[64], bad[64], between[64];
  for (double& value : good) value = 1;
  for (double& value : bad) value = kNan;
  // A 2 x 3 matrix between NaN: in what lies between its columns, and behind it.
  for (int i = 0; i < 64; ++i) between[i] = i % 4 < 2 && i < 12 ? 1 : kNan;
  double infinite[64] = {1, 1, kInfinity}, denormal[64] = {1, 1e-310};
  dgemm(2, 2, 3, good, 2, good, 3);
  dgemm(2, 3, 3, between, 4, good, 3);
  dgemm(2, 4, 3, good, 2, bad, 3);
  dgemm(2, 5, 3, infinite, 2, denormal, 3);
  dgemm(2, 6, 3, bad, 1, good, 3);  // refused: a leading dimension of less than its rows
  dgemm(2, 0, 3, bad, 2, bad, 3);   // multiplies nothing
  const int two = 2, three = 3, step = -2;
  const double scale = 1;
  double x[6] = {1, kNan, 1, kNan, 1, kNan}, y[3] = {};
  dgemv_("N", &two, &three, &scale, good, &two, x, &step, &scale, y, &two);
  zgemm_("N", "C", &two, &two, &two, &scale, good, &two, bad, &two, &scale, y, &two);
  constexpr int kRows = 101, kNo = 111, kRight = 142, kUpper = 121, kUnit = 132;
  // Rows of 3, 4 apart.
  double rows[8] = {1, 1, 1, kNan, 1, 1, 1, kNan};
  cblas_dgemm(kRows, kNo, kNo, 2, 2, 3, scale, rows, 4, bad, 2, scale, y, 2);
  cblas_dtrsm(kRows, kRight, kUpper, kNo, kUnit, 2, 3, scale, bad, 3, rows, 4);
  return true;
}

// Operands at the end of what can be read, and where nothing can.
bool memory() {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto* pages = static_cast<char*>(
      ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (pages == MAP_FAILED || ::mprotect(pages + page, page, PROT_NONE) != 0) return false;
  auto* const end = reinterpret_cast<double*>(pages + page);
  end[-1] = kNan;
  dgemm(10, 10, 10, end - 100, 10, end - 100, 10);
  dgemm(10, 10, 11, end - 100, 10, nullptr, 11);  // its last column lies behind
  dgemm(10, 10, 12, reinterpret_cast<double*>(0x600000000000), 10, end, 12);
  if (::munmap(pages, 2 * page) != 0) return false;
  for (int i = 0; i < 200; ++i) dgemm(10, 10, 10, end - 100, 10, end - 100, 10);
  return true;
}

constexpr struct {
  const char* name;
  bool (*is_good)();
} kKinds[] = {{"flags", flags_are_kept}, {"numbers", numbers},   {"traps", traps},
              {"flush", flush},          {"operands", operands}, {"memory", memory}};

}  // namespace

int main(int count, char** words) {
  for (const auto& kind : kKinds) {
    if (count > 1 && std::strcmp(kind.name, words[1]) == 0) return kind.is_good() ? 0 : 1;
  }
  return 2;
}
