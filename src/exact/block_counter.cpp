// Runs a region in its translation: enters it, goes on where translated code asks for more, sums
// up.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "src/exact/engines.h"
#include "src/exact/open_blocks.h"
#include "src/exact/system_calls.h"

// enter: calls `code` with `argument`; it returns to hwprof_exact_end, and by that out of
// translation. serialise: the CPU drops what it has fetched of code that was written at another
// address (Intel SDM, vol. 3, "Handling self- and cross-modifying code"); iretq does so everywhere.
extern "C" {
extern const std::ptrdiff_t __rseq_offset __attribute__((weak));  // NOLINT: glibc 2.35's name
__attribute__((visibility("hidden"))) void hwprof_exact_enter(void* argument, const void* code);
__attribute__((visibility("hidden"))) void hwprof_exact_serialise();
extern __attribute__((visibility("hidden"))) const char hwprof_exact_end[];
}
asm(R"(
  .text
  .globl hwprof_exact_enter, hwprof_exact_end, hwprof_exact_serialise
  .hidden hwprof_exact_enter, hwprof_exact_end, hwprof_exact_serialise
  .type hwprof_exact_enter, @function
hwprof_exact_enter:
  pushq %rbx
  leaq hwprof_exact_end(%rip), %rax
  pushq %rax
  jmpq *%rsi
hwprof_exact_end:
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

const std::uint8_t* as_code(std::uint64_t address) {
  return reinterpret_cast<const std::uint8_t*>(address);
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

// Where to go on, as an address to run.
const std::uint8_t* next_code(CodePiece& piece, const SavedRegisters& registers) {
  Session& session = *piece.session;
  Slots& slots = *piece.slots;
  const std::uint64_t target = slots.target;
  const std::uint64_t site = std::exchange(slots.site, 0);
  if (target == session.ends_at) {
    session.reached_end = true;
    return as_code(target);
  }
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
  // From here on the program runs as it is, and comes to the end by itself.
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

Result<Counted> OpenBlocks::end() {
  Session& session = memory_.session();
  session.check_code();
  if (session.refusal != nullptr)
    return environment_error(session.refusal_errno, describe(session));
  if (!session.reached_end) {
    return environment_error(
        0, "not counted: the handler of a signal jumped back into the program (siglongjmp)");
  }
  return sum_of(session);
}

Result<OpenBlocks> OpenBlocks::begin(const void* from, const void* ends_at) {
  SessionMemory memory;
  if (!memory.complete()) return environment_error(ENOMEM, "not counted: out of memory");
  Session& session = memory.session();
  session.ends_at = as_number(ends_at);
  const Block* first = block_at(session, as_number(from));
  if (first == nullptr) return environment_error(session.refusal_errno, describe(session));
  hwprof_exact_serialise();
  return OpenBlocks(std::move(memory), first->code);
}

Result<Counted> count_blocks(void (*run)(void*), void* argument) {
  TRY(OpenBlocks open, OpenBlocks::begin(reinterpret_cast<const void*>(run), hwprof_exact_end));
  hwprof_exact_enter(argument, open.code());
  return open.end();
}

}  // namespace hwprof::exact
