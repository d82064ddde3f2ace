// Runs a region in its translation: enters it, goes on where translated code asks for more, sums
// up.
#include <cpuid.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include "src/exact/engines.h"
#include "src/exact/session.h"
#include "src/exact/system_calls.h"

// enter: calls `code` with `argument`, on whose return to hwprof_exact_end translated code goes to
// hwprof_exact_finished (0), the program's own code to where it says (1): it has left translation.
// serialise: the CPU drops what it has fetched of code that was written at another address (Intel
// SDM, vol. 3, "Handling self- and cross-modifying code"); iretq does so everywhere.
extern "C" {
extern const std::ptrdiff_t __rseq_offset __attribute__((weak));  // NOLINT: glibc 2.35's name
__attribute__((visibility("hidden"))) int hwprof_exact_enter(void* argument, const void* code);
__attribute__((visibility("hidden"))) void hwprof_exact_serialise();
extern __attribute__((visibility("hidden"))) const char hwprof_exact_end[];
extern __attribute__((visibility("hidden"))) const char hwprof_exact_finished[];
}
asm(R"(
  .text
  .globl hwprof_exact_enter, hwprof_exact_end, hwprof_exact_finished, hwprof_exact_serialise
  .hidden hwprof_exact_enter, hwprof_exact_end, hwprof_exact_finished, hwprof_exact_serialise
  .type hwprof_exact_enter, @function
hwprof_exact_enter:
  pushq %rbx
  leaq hwprof_exact_end(%rip), %rax
  pushq %rax
  jmpq *%rsi
hwprof_exact_end:
  movl $1, %eax
  popq %rbx
  ret
hwprof_exact_finished:
  xorl %eax, %eax
  popq %rbx
  ret
  .size hwprof_exact_enter, . - hwprof_exact_enter
  .type hwprof_exact_serialise, @function
hwprof_exact_serialise:
  movq %rsp, %rax
  movl %ss, %ecx
  pushq %rcx
  pushq %rax
  pushfq
  movl %cs, %ecx
  pushq %rcx
  leaq 1f(%rip), %rcx
  pushq %rcx
  iretq
1:
  ret
  .size hwprof_exact_serialise, . - hwprof_exact_serialise
)");

namespace hwprof::exact {
namespace {

constexpr std::size_t kStackBytes = 256U << 10U;
constexpr std::size_t kNotesBytes = std::size_t{64} << 20U;

const std::uint8_t* as_code(std::uint64_t address) {
  return reinterpret_cast<const std::uint8_t*>(address);
}

bool cpu_has_opmasks() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_AVX512BW) != 0;
}

// A thread in a restartable sequence (rseq(2), as of tcmalloc) is sent back to its start when it is
// interrupted, by the addresses of its code: in a translation that would not happen.
bool in_restartable_sequence() {
  if (&__rseq_offset == nullptr) return false;  // a C library that registers none
  const std::uint8_t* thread = nullptr;
  asm("movq %%fs:0, %0" : "=r"(thread));
  constexpr std::ptrdiff_t kSequence = 8;  // struct rseq, rseq_cs
  std::uint64_t sequence = 0;
  std::memcpy(&sequence, thread + __rseq_offset + kSequence, sizeof(sequence));
  return sequence != 0;
}

// All that a region needs, mapped apart from the program's heap.
class Memory {
 public:
  Memory()
      : session_(map_zeroed(sizeof(Session))),
        stack_(map_zeroed(kStackBytes)),
        notes_(map_zeroed(kNotesBytes)),
        state_(map_zeroed(state_bytes())) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    if (session_ != nullptr) {
      for (CodePiece& piece : session().pieces) unmap_code(piece);
    }
    unmap(session_, sizeof(Session));
    unmap(stack_, kStackBytes);
    unmap(notes_, kNotesBytes);
    unmap(state_, state_bytes());
  }
  [[nodiscard]] bool complete() const {
    return session_ != nullptr && stack_ != nullptr && notes_ != nullptr && state_ != nullptr;
  }
  // Zeroed pages are a Session; a constructor would touch, and so take, all of them.
  [[nodiscard]] Session& session() const { return *static_cast<Session*>(session_); }
  void hand_out() const {
    Session& to = session();
    to.stack_top = static_cast<std::uint8_t*>(stack_) + kStackBytes - 56;
    to.notes = static_cast<std::uint8_t*>(notes_);
    to.end_of_notes = to.notes + kNotesBytes;
    to.vector_state = static_cast<std::uint8_t*>(state_);
    to.counts_opmasks = cpu_has_opmasks();
  }

 private:
  void *session_, *stack_, *notes_, *state_;
};

// Where to go on, as an address to run.
const std::uint8_t* next_code(CodePiece& piece, const SavedRegisters& registers) {
  Session& session = *piece.session;
  Slots& slots = *piece.slots;
  const std::uint64_t target = slots.target;
  const std::uint64_t site = std::exchange(slots.site, 0);
  if (target == as_number(hwprof_exact_end)) return as_code(as_number(hwprof_exact_finished));
  if (in_restartable_sequence()) {
    session.refuse("is of a restartable sequence (rseq)", target);
    return as_code(target);
  }
  std::uint64_t key = target;
  if (std::exchange(slots.wants_system_call, 0) != 0) {
    const Judgement judgement = judge({.number = slots.rax,
                                       .first = registers.rdi,
                                       .second = registers.rsi,
                                       .third = registers.rdx,
                                       .fourth = registers.r10},
                                      session.ranges);
    if (judgement.consequence == Consequence::kLeave) {
      session.refuse(judgement.reason, target);
      return as_code(target);
    }
    if (judgement.consequence == Consequence::kCodeChanges) session.flush();
    key |= kChecked;
  }
  const Block* block = block_at(session, key);
  // From here on the program runs as it is, and comes to hwprof_exact_end by itself.
  if (block == nullptr) return as_code(target);
  if (key == target && !block->may_change) {
    session.jumps.minus_address[target % kJumpPlaces] = 0 - target;
    session.jumps.code[target % kJumpPlaces] = block->code;
  }
  if (site != 0 && !block->may_change) link(piece, site, *block);
  hwprof_exact_serialise();
  return block->code;
}

std::string describe(const Session& session) {
  Dl_info found{};
  const auto* at = reinterpret_cast<const void*>(session.refused_at);
  std::string where = fmt::format("{:#x}", session.refused_at);
  if (dladdr(at, &found) != 0 && found.dli_fname != nullptr) {
    where = fmt::format("{:#x} of {}", session.refused_at - as_number(found.dli_fbase),
                        found.dli_fname);
    if (found.dli_sname != nullptr) where += fmt::format(" ({})", found.dli_sname);
  }
  std::string text = fmt::format("not counted: the instruction at {} {}", where, session.refusal);
  if (session.refusal_errno != 0) text += fmt::format(": {}", std::strerror(session.refusal_errno));
  return text;
}

Counted sum_of(const Session& session) {
  Counted counted;
  for (const Block* block = session.blocks; block != nullptr; block = block->next) {
    const std::uint64_t times = *block->executions;
    if (times == 0 || block->count == 0) continue;
    CountedBlock& of_block = counted.blocks.emplace_back();
    of_block.address = block->begin;
    for (std::size_t i = 0; i < block->count; ++i) {
      const CountedInstruction& instruction = block->instructions[i];
      add(of_block.counts, instruction.effect, times,
          instruction.units == nullptr ? 0 : *instruction.units);
    }
    counted.counts += of_block.counts;
  }
  return counted;
}

}  // namespace

extern "C" void hwprof_exact_dispatch(CodePiece* piece, const SavedRegisters* registers) {
  const int error = errno;  // the program's
  piece->slots->target = as_number(next_code(*piece, *registers));
  errno = error;
}

Result<Counted> count_blocks(void (*run)(void*), void* argument) {
  const Memory memory;
  if (!memory.complete()) return environment_error(ENOMEM, "not counted: out of memory");
  memory.hand_out();
  Session& session = memory.session();
  const Block* first = block_at(session, reinterpret_cast<std::uint64_t>(run));
  if (first == nullptr) return environment_error(session.refusal_errno, describe(session));
  hwprof_exact_serialise();
  const bool left = hwprof_exact_enter(argument, first->code) != 0;
  session.check_code();
  if (session.refusal != nullptr)
    return environment_error(session.refusal_errno, describe(session));
  if (left) {
    return environment_error(
        0, "not counted: the handler of a signal jumped back into the program (siglongjmp)");
  }
  return sum_of(session);
}

}  // namespace hwprof::exact
