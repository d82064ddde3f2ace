// Stacks of stack_shapes.cpp, whose functions have no frame pointers: a tracer stops the program
// where its stack is known, so that no test needs a sample.
#include <dwarf.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/observe/proc/address_space.h"
#include "src/observe/proc/process_memory.h"
#include "src/observe/samples/sampled_code.h"
#include "src/observe/unwind/expression.h"
#include "src/observe/unwind/sample_memory.h"
#include "src/observe/unwind/unwind_table.h"
#include "src/observe/unwind/unwinder.h"

namespace hwprof::observe {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(EndsInCall, KnowsEachFormOfACall) {
  EXPECT_TRUE(ends_in_call(bytes_of({0x90, 0xe8, 1, 2, 3, 4})));        // call rel32
  EXPECT_TRUE(ends_in_call(bytes_of({0xff, 0xd0})));                    // call *%rax
  EXPECT_TRUE(ends_in_call(bytes_of({0x41, 0xff, 0xd4})));              // call *%r12
  EXPECT_TRUE(ends_in_call(bytes_of({0xff, 0x50, 0x10})));              // call *16(%rax)
  EXPECT_TRUE(ends_in_call(bytes_of({0xff, 0x14, 0xd8})));              // call *(%rax,%rbx,8)
  EXPECT_TRUE(ends_in_call(bytes_of({0xff, 0x54, 0x24, 8})));           // call *8(%rsp)
  EXPECT_TRUE(ends_in_call(bytes_of({0xff, 0x15, 0, 0x10, 0, 0})));     // call *x(%rip)
  EXPECT_TRUE(ends_in_call(bytes_of({0xff, 0x94, 0x24, 0, 1, 0, 0})));  // call *256(%rsp)
  EXPECT_FALSE(ends_in_call(bytes_of({0x90, 0x90, 0x90, 0x90, 0x90, 0x90})));
  EXPECT_FALSE(ends_in_call(bytes_of({0xff, 0xe0})));  // jmp *%rax
  EXPECT_FALSE(ends_in_call(bytes_of({0xff, 0x50})));  // cut off
  EXPECT_FALSE(ends_in_call({}));
}

class Words final : public StackMemory {
 public:
  explicit Words(std::map<std::uint64_t, std::uint64_t> words = {}) : words_(std::move(words)) {}
  bool word(std::uint64_t address, std::uint64_t& value) override {
    const auto found = words_.find(address);
    if (found == words_.end()) return false;
    value = found->second;
    return true;
  }
  bool read(std::uint64_t /*address*/, std::span<std::byte> /*to*/) override { return false; }

 private:
  std::map<std::uint64_t, std::uint64_t> words_;
};

Dwarf_Op op(std::uint8_t atom, std::uint64_t number = 0) { return {atom, number, 0, 0}; }

TEST(Expression, FollowsRegistersAndMemory) {
  Registers registers;
  registers.set(kFramePointer, 0x1000);
  Words memory(std::map<std::uint64_t, std::uint64_t>{{0xff8, 0x2000}});
  const auto minus_eight = static_cast<std::uint64_t>(-8);
  // GCC's for a stack that it has aligned anew.
  const std::vector<Dwarf_Op> code = {op(DW_OP_breg6, minus_eight), op(DW_OP_deref)};
  EXPECT_EQ(evaluate(code, registers, std::nullopt, memory), 0x2000);
  // The linker's for a PLT: ((rip & 15) >= 11) << 3, and rsp + 8.
  registers.set(kStackPointer, 0x100);
  registers.set(kRip, 0x40b);
  const std::vector<Dwarf_Op> plt = {op(DW_OP_breg7, 8), op(DW_OP_breg16), op(DW_OP_lit15),
                                     op(DW_OP_and),      op(DW_OP_lit11),  op(DW_OP_ge),
                                     op(DW_OP_lit3),     op(DW_OP_shl),    op(DW_OP_plus)};
  EXPECT_EQ(evaluate(plt, registers, std::nullopt, memory), 0x110);
  registers.set(kRip, 0x40a);
  EXPECT_EQ(evaluate(plt, registers, std::nullopt, memory), 0x108);
}

TEST(Expression, IsAbsentWhereSomethingIsMissing) {
  const Registers none;
  Words memory;
  const std::vector<std::vector<Dwarf_Op>> impossible = {
      {},                                          // no value
      {op(DW_OP_breg3)},                           // a register that is not known
      {op(DW_OP_bregx, 1000)},                     // one that there is not
      {op(DW_OP_lit8), op(DW_OP_deref)},           // memory that is not there
      {op(DW_OP_plus)},                            // no operands
      {op(DW_OP_lit1), op(DW_OP_drop)},            // nothing left
      {op(DW_OP_call_frame_cfa)},                  // no frame
      {op(DW_OP_skip)},                            // no operation of unwind information
      std::vector<Dwarf_Op>(1000, op(DW_OP_lit1))  // too much
  };
  for (const auto& code : impossible)
    EXPECT_FALSE(evaluate(code, none, std::nullopt, memory)) << code.size();
}

#if defined(__x86_64__) && defined(STACK_SHAPES)

// A program that has stopped at its trap.
class Stopped {
 public:
  explicit Stopped(std::vector<std::string> command) {
    pid_ = ::fork();
    if (pid_ == 0) {
      std::vector<char*> argv;
      for (std::string& word : command) argv.push_back(word.data());
      argv.push_back(nullptr);
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(126);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    tid_ = pid_;
    int status = 0;
    if (::waitpid(pid_, &status, 0) != pid_ || !WIFSTOPPED(status)) {
      pid_ = -1;
      return;
    }
    ::ptrace(PTRACE_SETOPTIONS, pid_, nullptr, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
    ::ptrace(PTRACE_CONT, pid_, nullptr, nullptr);
    // Threads report themselves; other signals are the program's.
    for (int tid = 0; (tid = ::waitpid(-1, &status, __WALL)) > 0 && WIFSTOPPED(status);) {
      const int signal = WSTOPSIG(status);
      const bool of_tracing = status >> 16 != 0 || signal == SIGSTOP;
      if (signal == SIGTRAP && !of_tracing) {
        tid_ = tid;
        trapped_ = true;
        return;
      }
      ::ptrace(PTRACE_CONT, tid, nullptr, of_tracing ? 0 : signal);
    }
  }
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;
  ~Stopped() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(-1, nullptr, __WALL) > 0) {
    }
  }
  [[nodiscard]] bool trapped() const { return trapped_; }
  [[nodiscard]] int pid() const { return pid_; }
  [[nodiscard]] Registers registers() const {
    user_regs_struct from{};
    ::ptrace(PTRACE_GETREGS, tid_, nullptr, &from);
    Registers registers;
    const unsigned long long values[kRegisters] = {
        from.rax, from.rdx, from.rcx, from.rbx, from.rsi, from.rdi, from.rbp, from.rsp, from.r8,
        from.r9,  from.r10, from.r11, from.r12, from.r13, from.r14, from.r15, from.rip};
    for (std::size_t i = 0; i < kRegisters; ++i) registers.set(i, values[i]);
    return registers;
  }

 private:
  int pid_ = -1, tid_ = -1;
  bool trapped_ = false;
};

struct Named {
  std::string function;
  UnwoundFrame frame;
};
struct NamedStack {
  std::vector<Named> frames;  // innermost first
  StackEnd end = StackEnd::kNoRule;

  // From the innermost to main, which is not counted: "stop_here < recurse < recurse".
  [[nodiscard]] std::string text() const {
    std::string text;
    for (const Named& one : frames) {
      if (one.function == "main") return text;
      text += (text.empty() ? "" : " < ") + (one.frame.guessed ? "?" + one.function : one.function);
    }
    return text + " < no main";
  }
};

class UnwindTest : public testing::Test {
 protected:
  // With a copy of so much of the stack, as a sample has it.
  static std::optional<NamedStack> stack_of(std::vector<std::string> command,
                                            std::size_t copied = kStackCopyBytes) {
    const Stopped program(std::move(command));
    if (!program.trapped()) return std::nullopt;
    AddressSpaces spaces;
    for (const Record& record : records_of_running(program.pid())) spaces.apply(record);
    const Registers registers = program.registers();
    ProcessMemory living;
    std::vector<std::byte> copy(copied);
    while (!copy.empty() && !living.read(program.pid(), registers.values[kStackPointer], copy))
      copy.resize(copy.size() - 8);
    SampleMemory memory(program.pid(), registers.values[kStackPointer], copy, living);
    Images images;
    SampledCode code(program.pid(), spaces, images, memory);
    const UnwoundStack stack = unwind(registers, code, memory);
    NamedStack named;
    named.end = stack.end;
    for (const UnwoundFrame& frame : stack.frames) {
      const Mapping* mapping = spaces.find(program.pid(), frame.executed());
      named.frames.push_back(
          {mapping == nullptr
               ? "unmapped"
               : images.symbol(images.locate(program.pid(), *mapping, frame.executed(), false)),
           frame});
    }
    return named;
  }
};

#define STACK_OR_SKIP(name, ...)           \
  const auto name = stack_of(__VA_ARGS__); \
  if (!name) GTEST_SKIP() << "this system lets nobody trace its own children";

TEST_F(UnwindTest, FollowsDeepRecursion) {
  // The second has more than the copy holds.
  for (const int depth : {3, 500}) {
    STACK_OR_SKIP(stack, {STACK_SHAPES, "recurse", std::to_string(depth)});
    std::string expected = "stop_here";
    for (int i = 0; i <= depth; ++i) expected += " < recurse";
    EXPECT_EQ(stack->text(), expected);
    EXPECT_EQ(stack->end, StackEnd::kWhole);
  }
}

TEST_F(UnwindTest, EndsWhereAStackIsTooDeep) {
  STACK_OR_SKIP(stack, {STACK_SHAPES, "recurse", "5000"});
  EXPECT_EQ(stack->end, StackEnd::kTooDeep);
  EXPECT_GE(stack->frames.size(), 1000U);
}

TEST_F(UnwindTest, FollowsAStackThatWasAlignedAnew) {
  STACK_OR_SKIP(stack, {STACK_SHAPES, "realigned", "300"});
  EXPECT_EQ(stack->text(), "stop_here < realigned < calls_realigned");
  EXPECT_EQ(stack->end, StackEnd::kWhole);
}

TEST_F(UnwindTest, GoesThroughTheFrameOfASignal) {
  for (const char* shape : {"is_interrupted", "is_interrupted_elsewhere"}) {
    STACK_OR_SKIP(stack, {STACK_SHAPES, shape});
    ASSERT_GE(stack->frames.size(), 6U) << stack->text();
    EXPECT_EQ(stack->frames[0].function, "stop_here");
    EXPECT_EQ(stack->frames[1].function, "on_signal");
    // 2: of the C library, whose symbols may be stripped.
    EXPECT_EQ(stack->frames[3].function, "divides");
    EXPECT_TRUE(stack->frames[3].frame.interrupted);
    EXPECT_EQ(stack->frames[4].function, "is_interrupted");
    EXPECT_EQ(stack->end, StackEnd::kWhole) << stack->text();
  }
}

TEST_F(UnwindTest, HasNoFrameForATailCall) {
  STACK_OR_SKIP(stack, {STACK_SHAPES, "before_tail_call"});
  EXPECT_EQ(stack->text(), "stop_here < tail_end < before_tail_call");
  EXPECT_EQ(stack->end, StackEnd::kWhole);
}

TEST_F(UnwindTest, ReadsLateWhatTheCopyHasNot) {
  for (const std::size_t copied : {0U, 64U, 8192U}) {
    STACK_OR_SKIP(stack, {STACK_SHAPES, "large_frame"}, copied);
    EXPECT_EQ(stack->text(), "stop_here < large_frame") << copied;
    EXPECT_EQ(stack->end, StackEnd::kWhole);
  }
}

TEST_F(UnwindTest, GuessesTheCallerOfAssembly) {
  for (const char* kernel : {"kernel_with_buffer", "kernel_leaf"}) {
    STACK_OR_SKIP(stack, {STACK_SHAPES, kernel});
    EXPECT_EQ(stack->text(), std::string(kernel) + " < ?calls_" + kernel);
    EXPECT_EQ(stack->end, StackEnd::kWhole);
  }
}

TEST_F(UnwindTest, RecoversWhatACallerKeepsInRegisters) {
  STACK_OR_SKIP(stack, {STACK_SHAPES, "keeps_registers"});
  ASSERT_EQ(stack->text(),
            "stop_here < changes_registers < keeps_registers < calls_keeps_registers");
  const UnwoundFrame& frame = stack->frames[2].frame;
  ASSERT_TRUE(frame.registers.has(kRbx) && frame.registers.has(15));
  EXPECT_EQ(frame.registers.values[kRbx], 0x11111111U);
  EXPECT_EQ(frame.registers.values[15], 0x15151515U);
  EXPECT_EQ(frame.cfa, stack->frames[3].frame.registers.values[kStackPointer]);
  // What it guesses it does not claim to know.
  STACK_OR_SKIP(guessed, {STACK_SHAPES, "kernel_with_buffer"});
  EXPECT_FALSE(guessed->frames[1].frame.registers.has(12));
}

TEST_F(UnwindTest, EndsWhereAThreadStarts) {
  STACK_OR_SKIP(stack, {STACK_SHAPES, "thread"});
  ASSERT_GE(stack->frames.size(), 3U);
  EXPECT_EQ(stack->frames[1].function, "in_thread");
  EXPECT_EQ(stack->end, StackEnd::kWhole);
}

// Of a program without .eh_frame for its own code, which debuggers alone were to unwind.
TEST_F(UnwindTest, ReadsDebugFrame) {
  STACK_OR_SKIP(stack, {STACK_SHAPES_DEBUG, "recurse", "20"});
  std::string expected = "stop_here";
  for (int i = 0; i <= 20; ++i) expected += " < recurse";
  EXPECT_EQ(stack->text(), expected);
  EXPECT_EQ(stack->end, StackEnd::kWhole);
}

// Stale return addresses on the stack are the reason for the flag.
TEST_F(UnwindTest, GuessesWithoutAnyUnwindInformation) {
  STACK_OR_SKIP(stack, {STACK_SHAPES_BARE, "recurse", "20"});
  ASSERT_GE(stack->frames.size(), 22U);
  for (std::size_t i = 1; i <= 21; ++i) {
    EXPECT_EQ(stack->frames[i].function, "recurse");
    EXPECT_TRUE(stack->frames[i].frame.guessed);
  }
}

#endif

}  // namespace
}  // namespace hwprof::observe
