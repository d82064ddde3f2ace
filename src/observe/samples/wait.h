// Whether the code around an instruction only waits for another thread: by what its loop does, not
// by names, since distributions strip the libraries whose threads spin. A loop waits when it
// computes nothing in floating point and
//   - executes `pause`, and is short (runtimes of threads have longer ones), or
//   - calls sched_yield, or
//   - reads memory that it always finds at the same place, and neither stores, calls, carries a
//     result on nor counts up to what it reads: only somebody else can end it.
// Tried on ten kinds of wait and twelve of work by GCC and Clang (tests/wait_loops.c): at -O0 about
// half of the third kind is missed. Pure: bytes in, class out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "src/observe/samples/width.h"

namespace hwprof::observe {

enum class Wait {
  kNone,
  kPause,  // spins, and tells the CPU so
  kYield,  // spins through sched_yield
  kPoll,   // reads the same memory over and over
};

// What leads out of the code: how a call of sched_yield is known. Addresses are those of the code.
struct YieldCalls {
  // The pointer there is one to sched_yield: a relocation says so.
  std::function<bool(std::uint64_t slot)> is_slot;
  // What begins there is sched_yield or a jump to it.
  std::function<bool(std::uint64_t function)> is_function;
};

struct LoopJudgement {
  LoopClass loop;
  Wait wait = Wait::kNone;
};

// A file of which the waits are known to be long: 64 instructions are not enough for the pause
// loops of libgomp, libomp and TBB, which count, look at several flags and may call.
enum class Waiter { kAny, kThreadRuntime };

// As classify_loop(), and whether it waits. Absent `wait` rule on other than x86-64: kNone.
LoopJudgement judge_loop(std::span<const std::byte> code, std::uint64_t code_address,
                         std::uint64_t sampled_ip, const YieldCalls& yields, Waiter waiter);
// Whether `code` begins with sched_yield's system call, or with the jump through one of its slots.
bool begins_yield(std::span<const std::byte> code, std::uint64_t code_address,
                  const std::function<bool(std::uint64_t)>& is_slot);
// "" where there is a rule for this machine; else why nothing is said about waiting.
const char* why_waits_are_not_known();

// The same for x86-64, whatever this machine is.
LoopJudgement judge_loop_x86(std::span<const std::byte> code, std::uint64_t code_address,
                             std::uint64_t sampled_ip, const YieldCalls& yields, Waiter waiter);
bool begins_yield_x86(std::span<const std::byte> code, std::uint64_t code_address,
                      const std::function<bool(std::uint64_t)>& is_slot);

}  // namespace hwprof::observe
