// Counts by the trap flag: the CPU traps behind each instruction, and the handler looks at the
// next. Slow (some 10 us an instruction in a virtual machine) and simple: what block_counter is
// held against. Nothing is translated, so what runs is the program's own code, byte for byte.
//
// Source: Intel SDM, vol. 3, "Single-step exception condition". Traps that do not come: behind
// `syscall`, whose next instruction is therefore counted with it; with SIGTRAP blocked, so the call
// that blocks signals is made in the handler, without that one.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "src/exact/code_memory.h"
#include "src/exact/decode.h"
#include "src/exact/engines.h"
#include "src/exact/system_calls.h"

extern "C" {
__attribute__((visibility("hidden"))) void hwprof_exact_step(void* argument, void (*run)(void*));
extern __attribute__((visibility("hidden"))) const char hwprof_exact_step_end[];
}
asm(R"(
  .text
  .globl hwprof_exact_step, hwprof_exact_step_end
  .hidden hwprof_exact_step, hwprof_exact_step_end
  .type hwprof_exact_step, @function
hwprof_exact_step:
  pushq %rbx
  pushfq
  orq $0x100, (%rsp)
  popfq
  callq *%rsi
hwprof_exact_step_end:
  popq %rbx
  ret
  .size hwprof_exact_step, . - hwprof_exact_step
)");

namespace hwprof::exact {
namespace {

constexpr std::uint64_t kTrapFlag = 0x100;
constexpr std::size_t kHandlerStackBytes = 256U << 10U;

// The handler allocates nothing and reads these; one region of the process at a time.
struct Steps {
  Counts counts;
  std::uint64_t last = 0;  // address of the instruction before
  const char* refusal = nullptr;
  std::uint64_t refused_at = 0;
  std::size_t ymm_offset = 0, opmask_offset = 0;
  CodeRanges ranges;
};
Steps* steps = nullptr;

std::uint64_t read_word(const std::uint8_t* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

// Lanes that are on, from the state that the kernel saved for the handler.
std::uint64_t lanes_on(const Effect& effect, const ucontext_t& context) {
  const auto* state = reinterpret_cast<const std::uint8_t*>(context.uc_mcontext.fpregs);
  const std::uint64_t saved = read_word(state + 512);  // XSTATE_BV: what is not in its first state
  if (effect.mask == MaskKind::kOpmask) {
    const bool has = (saved >> 5U & 1U) != 0;
    const std::uint64_t mask =
        has ? read_word(state + steps->opmask_offset + std::size_t{8} * effect.mask_register) : 0;
    return static_cast<std::uint64_t>(std::popcount(mask & effect.all_lanes()));
  }
  std::uint64_t on = 0;
  const std::size_t lanes_of_128 = effect.mask_element_bytes == 8 ? 2 : 4;
  for (std::size_t lane = 0; lane < effect.mask_lanes; ++lane) {
    const bool upper = lane >= lanes_of_128;
    if ((saved >> (upper ? 2U : 1U) & 1U) == 0) continue;
    const std::size_t start =
        (upper ? steps->ymm_offset : 160) + std::size_t{16} * effect.mask_register;
    const std::size_t last_byte = start + (lane % lanes_of_128 + 1) * effect.mask_element_bytes - 1;
    on += state[last_byte] >> 7U;
  }
  return on;
}

void stop(greg_t* registers, const char* reason) {
  steps->refusal = reason;
  steps->refused_at = static_cast<std::uint64_t>(registers[REG_RIP]);
  registers[REG_EFL] &= ~static_cast<greg_t>(kTrapFlag);
}

// As the kernel does it, but SIGTRAP stays free: a blocked one ends the process.
void set_signal_mask(ucontext_t& context) {
  greg_t* registers = context.uc_mcontext.gregs;
  std::uint64_t now = 0, change = 0;
  std::memcpy(&now, &context.uc_sigmask, sizeof(now));
  const auto* wanted = reinterpret_cast<const void*>(registers[REG_RSI]);
  auto* old = reinterpret_cast<void*>(registers[REG_RDX]);
  if (old != nullptr) std::memcpy(old, &now, sizeof(now));
  registers[REG_RAX] = 0;
  if (wanted == nullptr) return;
  std::memcpy(&change, wanted, sizeof(change));
  switch (registers[REG_RDI]) {
    case SIG_BLOCK:
      now |= change;
      break;
    case SIG_UNBLOCK:
      now &= ~change;
      break;
    case SIG_SETMASK:
      now = change;
      break;
    default:
      registers[REG_RAX] = -EINVAL;
      return;
  }
  now &= ~(std::uint64_t{1} << (SIGTRAP - 1U));
  std::memcpy(&context.uc_sigmask, &now, sizeof(now));
}

Instruction decode_at(std::uint64_t address) {
  return decode({reinterpret_cast<const std::byte*>(address), 15}, address);
}

void step_system_call(ucontext_t& context, std::uint64_t next) {
  greg_t* registers = context.uc_mcontext.gregs;
  const auto argument = [&](int name) { return static_cast<std::uint64_t>(registers[name]); };
  const Judgement judgement = judge({.number = argument(REG_RAX),
                                     .first = argument(REG_RDI),
                                     .second = argument(REG_RSI),
                                     .third = argument(REG_RDX),
                                     .fourth = argument(REG_R10)},
                                    steps->ranges);
  if (judgement.consequence == Consequence::kLeave) return stop(registers, judgement.reason);
  if (argument(REG_RAX) == SYS_rt_sigprocmask) {
    set_signal_mask(context);
    registers[REG_RIP] = static_cast<greg_t>(next);
    registers[REG_RCX] = static_cast<greg_t>(next);
  }
  const Instruction following = decode_at(next);
  if (following.refusal != nullptr || following.effect.mask != MaskKind::kNone ||
      following.effect.repeated)
    return stop(registers, "follows a system call and cannot be stepped");
  add(steps->counts, following.effect, 1, 0);
  steps->last = next;
}

void on_trap(int, siginfo_t*, void* given) {
  auto& context = *static_cast<ucontext_t*>(given);
  greg_t* registers = context.uc_mcontext.gregs;
  const auto at = static_cast<std::uint64_t>(registers[REG_RIP]);
  if (at == reinterpret_cast<std::uint64_t>(hwprof_exact_step_end)) {
    registers[REG_EFL] &= ~static_cast<greg_t>(kTrapFlag);
    return;
  }
  const Instruction found = decode_at(at);
  if (found.refusal != nullptr) return stop(registers, found.refusal);
  const Effect& effect = found.effect;
  // A trap comes behind each iteration; the instruction is one.
  const bool iterates = effect.repeated && steps->last == at;
  steps->last = at;
  const std::uint64_t iterations = registers[REG_RCX] != 0 ? 1 : 0;
  if (iterates) {
    steps->counts.bytes_loaded += iterations * effect.loaded;
    steps->counts.bytes_stored += iterations * effect.stored;
    return;
  }
  const std::uint64_t units =
      effect.mask != MaskKind::kNone ? lanes_on(effect, context) : iterations;
  add(steps->counts, effect, 1, units);
  if (found.form.flow == Flow::kSystemCall) step_system_call(context, at + found.form.length);
}

}  // namespace

Result<Counted> count_steps(void (*run)(void*), void* argument) {
  if (steps != nullptr) return environment_error(0, "not counted: another thread is being stepped");
  sigset_t blocked;
  sigprocmask(SIG_BLOCK, nullptr, &blocked);
  if (sigismember(&blocked, SIGTRAP) != 0)
    return environment_error(0, "not counted: this thread blocks SIGTRAP, by which it is stepped");
  Steps here;
  here.ymm_offset = state_offset(2);
  here.opmask_offset = state_offset(5);
  if (!here.ranges.read()) return environment_error(errno, "cannot read /proc/self/maps");
  void* stack = map_zeroed(kHandlerStackBytes);
  if (stack == nullptr) return environment_error(ENOMEM, "not counted: out of memory");
  steps = &here;
  stack_t handler_stack{}, old_stack{};
  handler_stack.ss_sp = stack;
  handler_stack.ss_size = kHandlerStackBytes;
  sigaltstack(&handler_stack, &old_stack);
  struct sigaction action {
  }, old_action{};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGTRAP, &action, &old_action);
  hwprof_exact_step(argument, run);
  sigaction(SIGTRAP, &old_action, nullptr);
  sigaltstack(&old_stack, nullptr);
  unmap(stack, kHandlerStackBytes);
  steps = nullptr;
  if (here.refusal != nullptr) {
    return environment_error(
        0, std::string("not counted: an instruction that was stepped ") + here.refusal);
  }
  return Counted{here.counts, {}};
}

}  // namespace hwprof::exact
