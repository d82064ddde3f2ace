// Loops that wait and loops that work, as bytes: what compilers made of them, by hand where they
// would not.
#include "src/observe/samples/wait.h"

#include <gtest/gtest.h>

#if defined(__x86_64__)

#include <initializer_list>
#include <vector>

namespace hwprof::observe {
namespace {

constexpr std::uint64_t kAddress = 0x401000;
constexpr std::uint64_t kSlot = 0x404018, kYieldEntry = 0x401040;

std::vector<std::byte> bytes_of(std::initializer_list<unsigned> values) {
  std::vector<std::byte> bytes;
  for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

YieldCalls yields() {
  return {.is_slot = [](std::uint64_t slot) { return slot == kSlot; },
          .is_function = [](std::uint64_t function) { return function == kYieldEntry; }};
}

Wait judge(const std::vector<std::byte>& code, std::uint64_t sampled = 0,
           Waiter waiter = Waiter::kAny) {
  return judge_loop_x86(code, kAddress, kAddress + sampled, yields(), waiter).wait;
}

// `body`, and behind it a branch back to its start and a return.
std::vector<std::byte> loop_of(std::initializer_list<unsigned> body) {
  auto code = bytes_of(body);
  const auto distance = static_cast<unsigned>(256 - (code.size() + 2));
  code.push_back(std::byte{0x75});  // jne
  code.push_back(static_cast<std::byte>(distance));
  code.push_back(std::byte{0xc3});
  return code;
}
Wait judge_body(std::initializer_list<unsigned> body, std::uint64_t sampled = 0) {
  return judge(loop_of(body), sampled);
}

TEST(WaitX86, IsToReadTheSamePlaceOverAndOver) {
  // mov 0x2ef4(%rip),%eax; test %eax,%eax
  EXPECT_EQ(judge_body({0x8b, 0x05, 0xf4, 0x2e, 0, 0, 0x85, 0xc0}), Wait::kPoll);
  // cmpl $0,(%rdi)
  EXPECT_EQ(judge_body({0x83, 0x3f, 0x00}), Wait::kPoll);
  // Two flags: mov (%rdi),%rax; test %rax,%rax; jne out; mov 64(%rdi),%rax; test %rax,%rax
  EXPECT_EQ(judge_body({0x48, 0x8b, 0x07, 0x48, 0x85, 0xc0, 0x75, 0x09, 0x48, 0x8b, 0x47, 0x40,
                        0x48, 0x85, 0xc0}),
            Wait::kPoll);
  // At most 100,000 times: mov (%rdi),%eax; test %eax,%eax; jne out; sub $1,%edx
  EXPECT_EQ(judge_body({0x8b, 0x07, 0x85, 0xc0, 0x75, 0x05, 0x83, 0xea, 0x01}), Wait::kPoll);
}

TEST(WaitX86, IsToTryAnAtomicAgain) {
  // mov $1,%eax; xchg %al,(%rdi); test %al,%al
  EXPECT_EQ(judge_body({0xb8, 1, 0, 0, 0, 0x86, 0x07, 0x84, 0xc0}), Wait::kPoll);
  // mov $1,%eax; lock cmpxchg %ecx,(%rdi)
  EXPECT_EQ(judge_body({0xb8, 1, 0, 0, 0, 0xf0, 0x0f, 0xb1, 0x0f}), Wait::kPoll);
  // lock decl (%rdi): pthread_spin_lock
  EXPECT_EQ(judge_body({0xf0, 0xff, 0x0f}), Wait::kPoll);
}

TEST(WaitX86, IsToPauseWhateverElseAShortLoopDoes) {
  // pause; mov (%rdi),%eax; test %eax,%eax
  EXPECT_EQ(judge_body({0xf3, 0x90, 0x8b, 0x07, 0x85, 0xc0}), Wait::kPause);
  // pause; mov %rax,(%rsi); add $1,%rax
  EXPECT_EQ(judge_body({0xf3, 0x90, 0x48, 0x89, 0x06, 0x48, 0x83, 0xc0, 0x01}), Wait::kPause);
}

TEST(WaitX86, OfALongLoopThatPausesIsKnownOfRuntimesOfThreadsAlone) {
  auto code = bytes_of({0xf3, 0x90});
  for (int i = 0; i < 100; ++i) {
    for (const unsigned byte : {0x48U, 0x89U, 0x06U}) code.push_back(static_cast<std::byte>(byte));
  }
  const auto distance = static_cast<std::uint32_t>(-static_cast<std::int32_t>(code.size() + 5));
  code.push_back(std::byte{0xe9});  // jmp
  for (unsigned shift = 0; shift < 32; shift += 8)
    code.push_back(static_cast<std::byte>(distance >> shift & 0xffU));
  EXPECT_EQ(judge(code, 5, Waiter::kAny), Wait::kNone);
  EXPECT_EQ(judge(code, 5, Waiter::kThreadRuntime), Wait::kPause);
}

TEST(WaitX86, IsToCallSchedYield) {
  // call 0x401040; mov (%rdi),%eax; test %eax,%eax
  EXPECT_EQ(judge_body({0xe8, 0x3b, 0, 0, 0, 0x8b, 0x07, 0x85, 0xc0}), Wait::kYield);
  // call *0x3012(%rip), built with -fno-plt
  EXPECT_EQ(judge_body({0xff, 0x15, 0x12, 0x30, 0, 0, 0x8b, 0x07, 0x85, 0xc0}), Wait::kYield);
  // mov $24,%eax; syscall; mov (%rdi),%eax; test %eax,%eax, sampled at its end
  EXPECT_EQ(judge_body({0xb8, 24, 0, 0, 0, 0x0f, 0x05, 0x8b, 0x07, 0x85, 0xc0}, 9), Wait::kYield);
  // The same of another function and another call (getpid).
  EXPECT_EQ(judge_body({0xe8, 0x4b, 0, 0, 0, 0x8b, 0x07, 0x85, 0xc0}), Wait::kNone);
  EXPECT_EQ(judge_body({0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0x8b, 0x07, 0x85, 0xc0}, 9), Wait::kNone);
}

TEST(WaitX86, IsTheSystemCallItselfInsideSchedYield) {
  // mov $24,%eax; syscall; cmp $-4095,%rax; jae; ret
  const auto code = bytes_of(
      {0xb8, 24, 0, 0, 0, 0x0f, 0x05, 0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff, 0x73, 0x01, 0xc3, 0xc3});
  EXPECT_EQ(judge(code, 7), Wait::kYield) << "where a sample inside the kernel stands";
  EXPECT_EQ(judge(code, 0), Wait::kYield);
  auto other = code;
  other[1] = std::byte{25};  // mremap
  EXPECT_EQ(judge(other, 7), Wait::kNone);
}

TEST(WaitX86, IsTheJumpToSchedYield) {
  // endbr64; bnd jmp *0x300d(%rip), of the slot 0x404018
  const auto code = bytes_of({0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x0d, 0x30, 0, 0});
  EXPECT_EQ(judge(code, 4), Wait::kYield);
  EXPECT_TRUE(begins_yield_x86(code, kAddress, yields().is_slot));
  EXPECT_FALSE(begins_yield_x86(code, kAddress + 16, yields().is_slot)) << "another slot";
}

TEST(WaitX86, IsNotWorkThatLoadsWhereItHasNotYetLoaded) {
  // cmp (%rdi),%esi; lea 4(%rdi),%rdi: looks for a number
  EXPECT_EQ(judge_body({0x3b, 0x37, 0x48, 0x8d, 0x7f, 0x04}), Wait::kNone);
  // mov (%rdi),%rdi; test %rdi,%rdi: follows a list
  EXPECT_EQ(judge_body({0x48, 0x8b, 0x3f, 0x48, 0x85, 0xff}), Wait::kNone);
}

TEST(WaitX86, IsNotWorkThatCarriesAResultOn) {
  // add (%rdi),%rax; sub $1,%rsi
  EXPECT_EQ(judge_body({0x48, 0x03, 0x07, 0x48, 0x83, 0xee, 0x01}), Wait::kNone);
  // imul $3,%rax,%rax; cmp (%rdi),%rax
  EXPECT_EQ(judge_body({0x48, 0x6b, 0xc0, 0x03, 0x48, 0x3b, 0x07}), Wait::kNone);
  // mov (%rdi),%rax; mov %rax,(%rsi); test %rax,%rax: stores
  EXPECT_EQ(judge_body({0x48, 0x8b, 0x07, 0x48, 0x89, 0x06, 0x48, 0x85, 0xc0}), Wait::kNone);
}

TEST(WaitX86, IsNotToCountUpToWhatIsRead) {
  // add $1,%rax; cmp (%rdi),%rax
  EXPECT_EQ(judge_body({0x48, 0x83, 0xc0, 0x01, 0x48, 0x3b, 0x07}), Wait::kNone);
  // mov (%rdi),%rcx; add $1,%rax; cmp %rcx,%rax
  EXPECT_EQ(judge_body({0x48, 0x8b, 0x0f, 0x48, 0x83, 0xc0, 0x01, 0x48, 0x39, 0xc8}), Wait::kNone);
  // sub $1,%rax: reads nothing
  EXPECT_EQ(judge_body({0x48, 0x83, 0xe8, 0x01}), Wait::kNone);
}

TEST(WaitX86, IsNotArithmeticThatPauses) {
  // pause; vaddps %ymm0,%ymm1,%ymm1
  EXPECT_EQ(judge_body({0xf3, 0x90, 0xc5, 0xf4, 0x58, 0xc8}), Wait::kNone);
}

TEST(WaitX86, IsAHelperThatPauses) {
  const auto code = bytes_of({0xf3, 0x90, 0xc3});
  EXPECT_EQ(judge(code, 0), Wait::kPause);
  EXPECT_EQ(judge(code, 2), Wait::kPause) << "a sample behind it";
}

TEST(WaitX86, NeedsTheBytes) {
  EXPECT_EQ(judge({}, 0), Wait::kNone);
  EXPECT_EQ(judge(bytes_of({0xf3}), 0), Wait::kNone);
}

}  // namespace
}  // namespace hwprof::observe

#else

namespace hwprof::observe {
namespace {

TEST(Wait, IsNotKnownHereAndSaysWhy) { EXPECT_STRNE(why_waits_are_not_known(), ""); }

}  // namespace
}  // namespace hwprof::observe

#endif
