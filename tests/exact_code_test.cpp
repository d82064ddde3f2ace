// Code as compilers, loaders and the kernel make it, counted by blocks and by steps.
#include <immintrin.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <functional>
#include <initializer_list>

#include "tests/exact_setup.h"

namespace hwprof::exact {
namespace {

// What compilers make of `if (m[i] > 0) y[i] = y[i] * x + 1`: all lanes are computed, and the store
// has the mask.
__attribute__((target("avx2,fma"))) void if_converted(std::size_t n, const float* m, float* y) {
  const __m256 x = _mm256_set1_ps(1.5F), one = _mm256_set1_ps(1);
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256 on = _mm256_cmp_ps(_mm256_loadu_ps(m + i), _mm256_setzero_ps(), _CMP_GT_OQ);
    const __m256 next = _mm256_fmadd_ps(_mm256_loadu_ps(y + i), x, one);
    _mm256_maskstore_ps(y + i, _mm256_castps_si256(on), next);
  }
  for (; i < n; ++i) {
    const float next = __builtin_fmaf(y[i], 1.5F, 1);
    if (m[i] > 0) y[i] = next;
  }
}

TEST(ExactCode, IfConvertedLoopsExecuteWhatTheyDoNotStore) {
  SKIP_WITHOUT_EXACT();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "needs FMA";
  constexpr std::size_t kElements = 1001, kUseful = 334;
  std::vector<float> m(kElements, -1.0F), y(kElements, 2.0F);
  for (std::size_t i = 0; i < kUseful; ++i) m[3 * i] = 1;
  const Counts counts =
      same_counts_and_bytes(y, [&] { if_converted(kElements, m.data(), y.data()); });
  EXPECT_EQ(counts.total_flops(), 2 * kElements) << "not the " << 2 * kUseful << " that are kept";
  // The loop's comparisons, one a lane, and those of the rest of one.
  EXPECT_EQ(counts.lanes_of(Operation::kCompare), kElements);
  EXPECT_EQ(counts.masked_instructions, kElements / 8);
}

// A compiler's own, whatever it makes of it: equal, and not less than what is kept.
#if !defined(__clang__)
__attribute__((optimize("O3")))
#endif
__attribute__((target("avx2,fma"), noinline)) void
compiled(std::size_t n, const float* m, float* y) {
  for (std::size_t i = 0; i < n; ++i) {
    if (m[i] > 0) y[i] = y[i] * 1.5F + 1;
  }
}

TEST(ExactCode, LoopsWithAConditionAsCompiled) {
  SKIP_WITHOUT_EXACT();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "needs FMA";
  std::vector<float> m(1001, -1.0F), y(1001, 2.0F);
  for (std::size_t i = 0; i < 334; ++i) m[3 * i] = 1;
  const Counts counts = same_counts_and_bytes(y, [&] { compiled(m.size(), m.data(), y.data()); });
  EXPECT_GE(counts.total_flops(), 668U);
  EXPECT_LE(counts.total_flops(), 2002U);
}

// The first call of a function goes through its entry of the PLT into the dynamic loader, which
// saves all vectors and looks for the symbol. Nothing else here calls this one.
TEST(ExactCode, TheFirstCallThroughThePlt) {
  SKIP_WITHOUT_EXACT();
  double got = 0;
  const auto run = [&] { got = ::lgamma(7.5); };
  const auto first = count(run), second = count(run);
  ASSERT_TRUE(first && second) << (first ? second : first).error().what;
  EXPECT_NEAR(got, 7.534364236758733, 1e-12);
  EXPECT_GE(first->counts.instructions, second->counts.instructions);
  EXPECT_EQ(first->counts.total_flops(), second->counts.total_flops())
      << "the loader computes nothing";
  same_counts(run);
}

TEST(ExactCode, TheKernelsVdso) {
  SKIP_WITHOUT_EXACT();
  std::time_t now = 0;
  same_counts([&] { now = std::time(nullptr); });
  EXPECT_GT(now, 1'000'000'000);
  unsigned cpu = ~0U;
  same_counts([&] { ::getcpu(&cpu, nullptr); });
  EXPECT_LT(cpu, 100'000U);
}

// Memory that is written to and executed at once, as compilers at run time have it.
class WritableCode {
 public:
  WritableCode()
      : page_(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                     -1, 0)) {}
  WritableCode(const WritableCode&) = delete;
  WritableCode& operator=(const WritableCode&) = delete;
  ~WritableCode() { ::munmap(page_, 4096); }
  [[nodiscard]] bool there() const { return page_ != MAP_FAILED; }
  void write(std::initializer_list<unsigned> bytes) const {
    auto* to = static_cast<unsigned char*>(page_);
    for (const unsigned byte : bytes) *to++ = static_cast<unsigned char>(byte);
  }
  [[nodiscard]] int call() const { return reinterpret_cast<int (*)(void*)>(page_)(page_); }

 private:
  void* page_;
};

TEST(ExactCode, InWritableMemoryIsWhatItIsWhenItRuns) {
  SKIP_WITHOUT_EXACT();
  const WritableCode code;
  if (!code.there()) GTEST_SKIP() << "no such memory here";
  int sum = 0;
  const Counts counts = same_counts([&] {
    sum = 0;
    for (unsigned i = 0; i < 20; ++i) {
      if (i % 2 == 0) {
        code.write({0xb8, i, 0, 0, 0, 0xc3});  // mov eax, i; ret
      } else {
        code.write({0x31, 0xc0, 0xff, 0xc8, 0xff, 0xc8, 0xc3});  // xor eax, eax; dec eax twice
      }
      sum += code.call();
      sum += code.call();
    }
  });
  EXPECT_EQ(sum, 2 * (90 - 20));
  EXPECT_EQ(counts.system_calls, 0U);
}

TEST(ExactCode, ThatChangesItsOwnNextInstruction) {
  SKIP_WITHOUT_EXACT();
  const WritableCode code;
  if (!code.there()) GTEST_SKIP() << "no such memory here";
  int got = 0;
  const auto run = [&] {
    // mov byte [rdi+5], 8; mov al, 7 (its number is at 5); movzx eax, al; ret
    code.write({0xc6, 0x47, 0x05, 0x08, 0xb0, 0x07, 0x0f, 0xb6, 0xc0, 0xc3});
    got = code.call();
  };
  EXPECT_TRUE(count(run));
  EXPECT_EQ(got, 8) << "in its translation, too";
  same_counts(run);
}

// In a process of its own, whose verdict is the exit code: filters do not come off.
int in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Calls that map executable memory, and such that make memory executable, give EPERM.
bool forbid_executable_memory() {
  constexpr auto kNumber = offsetof(seccomp_data, nr),
                 kProtection = offsetof(seccomp_data, args[2]);
  std::array<sock_filter, 7> filter = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kProtection),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

constexpr int kNoFilters = 77;

TEST(ExactRefuses, WhereNoMemoryMayBeMadeExecutable) {
  SKIP_WITHOUT_EXACT();
  const int verdict = in_child([] {
    if (!forbid_executable_memory()) return kNoFilters;
    bool ran = false;
    const auto counted = count([&] { ran = true; });
    if (counted) return 1;
    if (counted.error().code != EPERM) return 2;
    return ran ? 3 : 0;
  });
  if (verdict == kNoFilters) GTEST_SKIP() << "this process may not filter system calls";
  EXPECT_EQ(verdict, 0);
}

TEST(ExactRefuses, AFilterThatIsInstalledInside) {
  SKIP_WITHOUT_EXACT();
  const int verdict = in_child([] {
    bool filtered = false;
    const auto counted = count([&] { filtered = forbid_executable_memory(); });
    if (!filtered) return kNoFilters;
    return counted                                                                     ? 1
           : counted.error().what.find("how this thread may run") == std::string::npos ? 2
                                                                                       : 0;
  });
  if (verdict == kNoFilters) GTEST_SKIP() << "this process may not filter system calls";
  EXPECT_EQ(verdict, 0);
}

}  // namespace
}  // namespace hwprof::exact
