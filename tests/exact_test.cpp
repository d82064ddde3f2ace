// Code by hand, counted by blocks and by steps.
#include <immintrin.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>

#include "tests/exact_setup.h"

namespace hwprof::exact {
namespace {

volatile double sink = 0;

__attribute__((noinline)) int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

// Flags that live across counted blocks, short branches, returns over arguments, jumps through
// registers and memory. Returns what only the right flags give.
extern "C" long exact_odd_jumps();
asm(R"(
  .text
exact_odd_jumps:
  pushq %rbx
  xorl %ebx, %ebx
  movl $5, %ecx
1: adcl $1, %ebx
  loop 1b
  xorl %ecx, %ecx
  jrcxz 2f
  ud2
2: pushq $1
  pushq $2
  call 3f
  jmp 4f
3: ret $16
4: leaq 5f(%rip), %rax
  stc
  jmpq *%rax
  ud2
5: adcl $16, %ebx
  leaq 6f(%rip), %rax
  pushq %rax
  movl $0x7fffffff, %eax
  addl $1, %eax
  jmpq *(%rsp)
  ud2
6: seto %al
  leaq 8(%rsp), %rsp
  movzbl %al, %eax
  shll $8, %eax
  addl %eax, %ebx
  callq *exact_where(%rip)
  adcl $0x1000, %ebx
  std
  cld
  movl %ebx, %eax
  popq %rbx
  ret
exact_sets_carry:
  stc
  ret
  .data
exact_where: .quad exact_sets_carry
  .text
)");

__attribute__((target("avx512f,avx512bw,avx512vl"))) void masked_tail(int n, const float* x,
                                                                      float* y) {
  const __m512 factor = _mm512_set1_ps(1.5f);
  for (int i = 0; i < n; i += 16) {
    const __mmask16 on = n - i >= 16 ? 0xffff : static_cast<__mmask16>((1U << (n - i)) - 1);
    const __m512 sum = _mm512_mask_fmadd_ps(factor, on, _mm512_maskz_loadu_ps(on, x + i),
                                            _mm512_maskz_loadu_ps(on, y + i));
    _mm512_mask_storeu_ps(y + i, on, sum);
  }
}

__attribute__((target("avx512f"))) void gather512(int n, const int* where, const float* x,
                                                  float* y) {
  for (int i = 0; i < n; i += 16) {
    const __mmask16 on = n - i >= 16 ? 0xffff : static_cast<__mmask16>((1U << (n - i)) - 1);
    const __m512i places = _mm512_maskz_loadu_epi32(on, where + i);
    __m512 got = _mm512_setzero_ps();
    __mmask16 left = on;  // the instruction clears it
    asm("vgatherdps (%2,%3,4), %0%{%1%}" : "+v"(got), "+Yk"(left) : "r"(x), "v"(places) : "memory");
    _mm512_mask_storeu_ps(y + i, on, _mm512_add_ps(got, got));
  }
}

__attribute__((target("avx2,fma"))) void masked_avx2(int n, const int* where, const float* x,
                                                     float* y) {
  for (int i = 0; i < n; i += 8) {
    const __m256i on =
        _mm256_cmpgt_epi32(_mm256_set1_epi32(n - i), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    const __m256i places = _mm256_maskload_epi32(where + i, on);
    __m256 got = _mm256_setzero_ps(), left = _mm256_castsi256_ps(on);  // the instruction clears it
    asm("vgatherdps %1, (%2,%3,4), %0" : "+x"(got), "+x"(left) : "r"(x), "x"(places) : "memory");
    _mm256_maskstore_ps(y + i, on, _mm256_fmadd_ps(got, got, got));
  }
}

TEST(Exact, MaskedTailsCountTheLanesThatAreOn) {
  SKIP_WITHOUT_EXACT();
  if (!__builtin_cpu_supports("avx512bw")) GTEST_SKIP() << "needs AVX-512";
  std::vector<float> x(64, 2.0f), y(64);
  const Counts counts = same_counts_and_bytes(y, [&] { masked_tail(5, x.data(), y.data()); });
  EXPECT_EQ(counts.total_flops(), 10U);
  EXPECT_EQ(counts.flops_at(Width::k512), 10U);
  EXPECT_EQ(counts.lanes_of(Operation::kFma), 5U);
  EXPECT_EQ(counts.masked_lanes_off, 4U * 11);
  EXPECT_EQ(same_counts_and_bytes(y, [&] { masked_tail(64, x.data(), y.data()); }).total_flops(),
            128U);
}

TEST(Exact, GathersAndMaskedMovesCountTheLanesThatAreOn) {
  SKIP_WITHOUT_EXACT();
  std::vector<float> x(64, 2.0f), y(64);
  std::vector<int> where(64);
  for (int i = 0; i < 64; ++i) where[static_cast<std::size_t>(i)] = (i * 7) % 61;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    const auto run = [&] { masked_avx2(13, where.data(), x.data(), y.data()); };
    const Counts counts = same_counts_and_bytes(y, run);
    EXPECT_EQ(counts.total_flops(), 32U) << "the FMA itself has no mask";
    EXPECT_EQ(counts.masked_instructions, 6U);
    EXPECT_EQ(counts.masked_lanes_off, 9U);
  }
  if (__builtin_cpu_supports("avx512bw")) {
    const auto run = [&] { gather512(29, where.data(), x.data(), y.data()); };
    EXPECT_EQ(same_counts_and_bytes(y, run).masked_lanes_off, 9U);
  }
}

TEST(Exact, FlagsLiveThroughCountersAndOddJumps) {
  SKIP_WITHOUT_EXACT();
  long result = 0;
  const long native = exact_odd_jumps();
  same_counts([&] { result = exact_odd_jumps(); });
  EXPECT_EQ(result, native);
  EXPECT_EQ(native, 5 + 16 + 1 + 0x100 + 0x1000 + 1);
}

TEST(Exact, RecursionFunctionPointersAndVirtualCalls) {
  SKIP_WITHOUT_EXACT();
  int got = 0;
  same_counts([&] { got = fibonacci(10); });
  EXPECT_EQ(got, 55);
  struct Shape {
    virtual ~Shape() = default;
    virtual double area(double x) = 0;
  };
  struct Square : Shape {
    double area(double x) override { return x * x + 1; }
  };
  struct Circle : Shape {
    double area(double x) override { return x * 3.0; }
  };
  const std::array<std::unique_ptr<Shape>, 2> shapes = {std::make_unique<Square>(),
                                                        std::make_unique<Circle>()};
  const Counts counts = same_counts([&] {
    double x = 0.1;
    for (std::size_t i = 0; i < 20; ++i) x = shapes[i % 2]->area(x) * 0.01;
    sink = x;
  });
  EXPECT_EQ(counts.flops_of(Precision::kDouble), 50U);
  const std::array<std::function<int(int)>, 2> functions = {[](int x) { return x + 1; }, fibonacci};
  same_counts([&] {
    for (const auto& function : functions) got = function(5);
  });
}

TEST(Exact, CallsIntoOtherLibraries) {
  SKIP_WITHOUT_EXACT();
  same_counts([] {
    double sum = 0;
    for (int i = 1; i < 10; ++i) sum += std::exp(i * 0.01) + std::sin(i) + std::pow(i, 1.3);
    sink = sum;
  });
  same_counts([] {
    std::array<int, 60> values{};
    for (int i = 0; i < 60; ++i) values[static_cast<std::size_t>(i)] = (i * 7919) % 1009;
    std::qsort(values.data(), values.size(), sizeof(int), [](const void* a, const void* b) {
      return *static_cast<const int*>(a) - *static_cast<const int*>(b);
    });
    sink = values[7];
  });
  std::array<char, 64> text{};
  same_counts([&] { std::snprintf(text.data(), text.size(), "%g %d %s", 3.14, 42, "x"); });
  EXPECT_STREQ(text.data(), "3.14 42 x");
  const Counts extended = same_counts([] {
    volatile long double x = 1.5L;
    x = x * 1.01L + std::sqrt(x);
  });
  EXPECT_EQ(extended.flops_of(Precision::kExtended), 3U);
}

TEST(Exact, RepeatedStringInstructionsCountWhatTheyMove) {
  SKIP_WITHOUT_EXACT();
  std::vector<char> from(700, 'x'), to(700);
  from[300] = 'y';
  const Counts copied = same_counts([&] {
    auto* in = from.data();
    auto* out = to.data();
    std::size_t count = 650;
    asm volatile("rep movsb" : "+S"(in), "+D"(out), "+c"(count) : : "memory");
  });
  EXPECT_GE(copied.bytes_stored, 650U);
  std::size_t left = 0;
  const auto scan = [&](std::size_t count) {
    auto* in = from.data();
    asm volatile("repne scasb" : "+D"(in), "+c"(count) : "a"('y') : "memory", "cc");
    left = count;
  };
  std::size_t length = 700;
  const auto scan_all = [&] { scan(length); };
  const Counts found = same_counts(scan_all);
  EXPECT_EQ(left, 399U);
  length = 0;
  const Counts of_nothing = same_counts(scan_all);
  EXPECT_EQ(found.bytes_loaded - of_nothing.bytes_loaded, 301U);
  EXPECT_EQ(found.instructions, of_nothing.instructions);
}

std::jmp_buf back;
__attribute__((noinline)) void jump_back(int depth) {
  if (depth > 0) jump_back(depth - 1);
  if (sink >= 0) std::longjmp(back, 1);
}

TEST(Exact, LongjmpAndExceptionsWithinTheRegion) {
  SKIP_WITHOUT_EXACT();
  same_counts([] {
    sink = 0;
    if (setjmp(back) == 0) jump_back(10);
  });
  int caught = 0;
  same_counts([&] {
    try {
      throw std::runtime_error("x");
    } catch (const std::exception&) {
      ++caught;
    }
  });
  EXPECT_EQ(caught, 5);
}

TEST(Exact, AnExceptionThatLeavesTheRegionIsTheCallers) {
  SKIP_WITHOUT_EXACT();
  EXPECT_THROW((void)count([] { throw std::runtime_error("x"); }), std::runtime_error);
  EXPECT_TRUE(count([] {})) << "and the next region is counted";
}

volatile std::sig_atomic_t handled = 0;
void handle(int) { handled = handled + 1; }

TEST(Exact, HandlersOfSignalsRunAndAreNotCounted) {
  SKIP_WITHOUT_EXACT();
  std::signal(SIGUSR1, handle);
  const auto run = [] { std::raise(SIGUSR1); };
  same_counts(run);
  EXPECT_EQ(handled, 5);
  std::signal(SIGUSR1, SIG_DFL);
}

TEST(Exact, SignalsAtAnyInstructionChangeNothing) {
  SKIP_WITHOUT_EXACT();
  int got = 0;
  const auto run = [&] {
    for (int i = 0; i < 200; ++i) got = fibonacci(14);
  };
  const auto quiet = count(run);
  ASSERT_TRUE(quiet) << quiet.error().what;
  std::signal(SIGALRM, handle);
  handled = 0;
  const itimerval often{{0, 50}, {0, 50}}, never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  const auto disturbed = count(run);
  setitimer(ITIMER_REAL, &never, nullptr);
  std::signal(SIGALRM, SIG_DFL);
  ASSERT_TRUE(disturbed) << disturbed.error().what;
  EXPECT_GT(handled, 0);
  EXPECT_EQ(got, 377);
  EXPECT_EQ(quiet->counts, disturbed->counts);
}

TEST(Exact, SystemCallsAndVdso) {
  SKIP_WITHOUT_EXACT();
  const Counts counts = same_counts([] {
    void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *static_cast<volatile char*>(page) = 1;
    munmap(page, 4096);
  });
  EXPECT_EQ(counts.system_calls, 2U);
  std::timespec now{};
  const auto clock = count([&] { clock_gettime(CLOCK_MONOTONIC, &now); });
  ASSERT_TRUE(clock) << clock.error().what;
  EXPECT_GT(now.tv_sec, 0);
}

// Code at one address that is one, then another.
TEST(Exact, CodeThatIsWrittenAnewIsTranslatedAnew) {
  SKIP_WITHOUT_EXACT();
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  int sum = 0;
  const auto run = [&] {
    sum = 0;
    for (const unsigned char value : {3, 5}) {
      mprotect(page, 4096, PROT_READ | PROT_WRITE);
      const std::array<unsigned char, 6> code = {0xb8, value, 0,
                                                 0,    0,     0xc3};  // mov eax, value; ret
      std::memcpy(page, code.data(), code.size());
      mprotect(page, 4096, PROT_READ | PROT_EXEC);
      sum += reinterpret_cast<int (*)()>(page)();
    }
  };
  same_counts(run);
  EXPECT_EQ(sum, 8);
  munmap(page, 4096);
}

TEST(Exact, AThreadThatSleepsDoesNotMatter) {
  SKIP_WITHOUT_EXACT();
  std::atomic<bool> over = false;
  std::thread other([&] { over.wait(false); });
  usleep(20000);
  Result<Counted> counted = count([] { sink = fibonacci(5); });
  for (int i = 0; i < 50 && !counted; ++i) {  // it may not yet sleep on a busy machine
    usleep(20000);
    counted = count([] { sink = fibonacci(5); });
  }
  EXPECT_TRUE(counted) << counted.error().what;
  over = true;
  over.notify_all();
  other.join();
}

TEST(Exact, TwiceIsTheSameAndBlocksAddUpToTheWhole) {
  SKIP_WITHOUT_EXACT();
  const auto run = [] { sink = fibonacci(12); };
  const auto first = count(run), second = count(run);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->counts, second->counts);
  Counts sum;
  for (const CountedBlock& block : first->blocks) sum += block.counts;
  EXPECT_EQ(sum, first->counts);
}

}  // namespace
}  // namespace hwprof::exact
