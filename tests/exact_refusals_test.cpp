// What cannot be counted is said, and never counted wrongly; the region runs to its end all the
// same.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <thread>

#include "tests/exact_setup.h"

namespace hwprof::exact {
namespace {

volatile double sink = 0;

__attribute__((noinline)) int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

template <class Function>
std::string why_not_counted(Function&& run) {
  const Result<Counted> counted = count(run);
  EXPECT_FALSE(counted);
  return counted ? "" : counted.error().what;
}

// Written through a second mapping, so that no system call shows it.
TEST(ExactRefuses, CodeThatChangesUnseen) {
  SKIP_WITHOUT_EXACT();
  const int file = memfd_create("code", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, 4096), 0);
  void* to_write = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  void* to_run = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
  if (to_run == MAP_FAILED) GTEST_SKIP() << "no such memory here";
  const std::array<unsigned char, 6> code = {0xb8, 7, 0, 0, 0, 0xc3};
  std::memcpy(to_write, code.data(), code.size());
  EXPECT_THAT(why_not_counted([&] {
                reinterpret_cast<int (*)()>(to_run)();
                static_cast<volatile unsigned char*>(to_write)[1] = 8;
              }),
              testing::HasSubstr("was changed"));
  munmap(to_write, 4096);
  munmap(to_run, 4096);
  close(file);
}

TEST(ExactRefuses, InstructionsThatItCannotCount) {
  SKIP_WITHOUT_EXACT();
  std::array<char, 16> bytes{};
  EXPECT_THAT(why_not_counted([&] {
                asm volatile(
                    "pcmpeqd %%xmm0, %%xmm0\n pcmpeqd %%xmm1, %%xmm1\n maskmovdqu %%xmm1, %%xmm0"
                    :
                    : "D"(bytes.data())
                    : "xmm0", "xmm1", "memory");
              }),
              testing::HasSubstr("single bytes by a mask"));
  EXPECT_EQ(bytes[15], -1);
  const Result<Counted> steps = count(
      [&] {
        asm volatile("maskmovdqu %%xmm1, %%xmm0" : : "D"(bytes.data()) : "memory");
      },
      Engine::kSteps);
  EXPECT_FALSE(steps);
}

TEST(ExactRefuses, ThreadsThatAreStartedInside) {
  SKIP_WITHOUT_EXACT();
  int result = 0;
  EXPECT_THAT(why_not_counted([&] { std::thread([&] { result = 3; }).join(); }),
              testing::HasSubstr("starts a thread or a process"));
  EXPECT_EQ(result, 3);
}

TEST(ExactRefuses, ProcessesThatAreStartedInside) {
  SKIP_WITHOUT_EXACT();
  int status = -1;
  EXPECT_THAT(why_not_counted([&] {
                const pid_t child = fork();
                if (child == 0) _exit(7);
                waitpid(child, &status, 0);
              }),
              testing::HasSubstr("starts a thread or a process"));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(ExactRefuses, WhenAnotherThreadWorked) {
  SKIP_WITHOUT_EXACT();
  std::atomic<int> turn = 0;
  std::thread other([&] {
    turn.wait(0);
    turn = 2;
    turn.notify_all();
  });
  EXPECT_THAT(why_not_counted([&] {
                turn = 1;
                turn.notify_all();
                while (turn != 2) turn.wait(1);
              }),
              testing::HasSubstr("1 other thread of the process ran"));
  other.join();
}

sigjmp_buf from_handler;

TEST(ExactRefuses, HandlersThatJumpBackIntoTheProgram) {
  SKIP_WITHOUT_EXACT();
  std::signal(SIGUSR1, [](int) { siglongjmp(from_handler, 1); });
  EXPECT_THAT(why_not_counted([] {
                if (sigsetjmp(from_handler, 1) == 0) std::raise(SIGUSR1);
              }),
              testing::HasSubstr("siglongjmp"));
  std::signal(SIGUSR1, SIG_DFL);
  EXPECT_TRUE(count([] {}));
}

struct RestartableSequence {  // linux/rseq.h
  std::uint32_t version = 0, flags = 0;
  std::uint64_t start = 0, length = 0, abort = 0;
};

TEST(ExactRefuses, RestartableSequences) {
  SKIP_WITHOUT_EXACT();
  auto* offset = static_cast<const std::ptrdiff_t*>(dlsym(RTLD_DEFAULT, "__rseq_offset"));
  auto* size = static_cast<const unsigned*>(dlsym(RTLD_DEFAULT, "__rseq_size"));
  if (offset == nullptr || size == nullptr || *size == 0) GTEST_SKIP() << "no sequences here";
  alignas(32) static const RestartableSequence sequence;  // of no code
  std::uint8_t* thread = nullptr;
  asm("movq %%fs:0, %0" : "=r"(thread));
  auto* current = reinterpret_cast<const RestartableSequence* volatile*>(thread + *offset + 8);
  std::string why;
  for (int i = 0; i < 20 && why.empty();
       ++i) {  // the kernel ends it when this thread loses its CPU
    const auto counted = count([&] {
      *current = &sequence;
      sink = fibonacci(3);
      *current = nullptr;
    });
    if (!counted) why = counted.error().what;
  }
  EXPECT_THAT(why, testing::HasSubstr("restartable sequence"));
}

TEST(ExactRefuses, RegionsWithinRegions) {
  SKIP_WITHOUT_EXACT();
  std::string inner;
  const auto outer = count([&] { inner = count([] {}).error().what; });
  EXPECT_TRUE(outer) << outer.error().what;
  EXPECT_THAT(inner, testing::HasSubstr("this thread is being counted"));
}

}  // namespace
}  // namespace hwprof::exact
