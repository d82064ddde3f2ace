#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <vector>

#include "src/observe/samples/wait.h"

namespace hwprof::observe {
namespace {

constexpr std::size_t kLongestPauseLoop = 64, kLongestRuntimeLoop = 400;  // instructions
constexpr std::size_t kLongestPoll = 24;
// A retried atomic or a bare test of flags has no compare of its own.
constexpr std::size_t kLongestRetry = 8;
constexpr std::uint64_t kYieldCall = 24;  // __NR_sched_yield
// A sample behind the system call of sched_yield: on the check of its result, or the return.
constexpr std::uint64_t kYieldBytes = 20;

struct Instruction {
  std::uint64_t address = 0;
  ZydisDecodedInstruction code{};
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands{};

  [[nodiscard]] bool is(ZydisMnemonic mnemonic) const { return code.mnemonic == mnemonic; }
  [[nodiscard]] bool is_any(std::initializer_list<ZydisMnemonic> mnemonics) const {
    return std::find(mnemonics.begin(), mnemonics.end(), code.mnemonic) != mnemonics.end();
  }
  [[nodiscard]] std::uint64_t next() const { return address + code.length; }
  [[nodiscard]] bool has_immediate(std::size_t operand) const {
    return code.operand_count > operand &&
           operands.at(operand).type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  }
  [[nodiscard]] bool has_memory(std::size_t operand) const {
    return code.operand_count > operand && operands.at(operand).type == ZYDIS_OPERAND_TYPE_MEMORY &&
           operands.at(operand).mem.type == ZYDIS_MEMOP_TYPE_MEM;
  }
  [[nodiscard]] std::span<const ZydisDecodedOperand> used() const {
    return std::span(operands).first(code.operand_count);
  }
};

// eax, al and rax are one register.
ZydisRegister whole(ZydisRegister name) {
  return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
}

ZydisRegister register_of(const Instruction& instruction, std::size_t operand) {
  const auto used = instruction.used();
  const bool is = operand < used.size() && used[operand].type == ZYDIS_OPERAND_TYPE_REGISTER;
  return is ? whole(used[operand].reg.value) : ZYDIS_REGISTER_NONE;
}

class Code {
 public:
  Code(std::span<const std::byte> bytes, std::uint64_t address) : bytes_(bytes), address_(address) {
    ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  }
  [[nodiscard]] std::optional<Instruction> at(std::uint64_t address) const {
    if (address < address_ || address - address_ >= bytes_.size()) return std::nullopt;
    const auto rest = bytes_.subspan(address - address_);
    Instruction found;
    found.address = address;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, rest.data(), rest.size(), &found.code,
                                             found.operands.data()))) {
      return std::nullopt;
    }
    return found;
  }
  [[nodiscard]] std::vector<Instruction> between(LoopBounds bounds) const {
    std::vector<Instruction> body;
    for (std::uint64_t at = bounds.begin; at < bounds.end;) {
      auto found = this->at(at);
      if (!found) return {};
      at = found->next();
      body.push_back(*found);
    }
    return body;
  }

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t address_;
  ZydisDecoder decoder_{};
};

bool is_pause(const Instruction& instruction) {
  return instruction.is_any(
      {ZYDIS_MNEMONIC_PAUSE, ZYDIS_MNEMONIC_TPAUSE, ZYDIS_MNEMONIC_UMWAIT, ZYDIS_MNEMONIC_MWAITX});
}

// Of an instruction that addresses memory relative to itself: `call *sched_yield@GOT(%rip)`.
std::optional<std::uint64_t> slot_of(const Instruction& instruction) {
  if (!instruction.has_memory(0)) return std::nullopt;
  const auto& memory = instruction.operands[0].mem;
  if (memory.base != ZYDIS_REGISTER_RIP || memory.index != ZYDIS_REGISTER_NONE) return std::nullopt;
  return instruction.next() + static_cast<std::uint64_t>(memory.disp.value);
}

bool sets_yield_call(const Instruction& instruction) {
  return instruction.is(ZYDIS_MNEMONIC_MOV) && register_of(instruction, 0) == ZYDIS_REGISTER_RAX &&
         instruction.has_immediate(1) && instruction.operands[1].imm.value.u == kYieldCall;
}

// sched_yield itself, or a jump to it, from `at` on.
bool yields_from(const Code& code, std::uint64_t at,
                 const std::function<bool(std::uint64_t)>& is_slot) {
  auto step = code.at(at);
  if (step && step->is(ZYDIS_MNEMONIC_ENDBR64)) step = code.at(step->next());
  if (!step) return false;
  if (step->is(ZYDIS_MNEMONIC_JMP)) {
    const auto slot = slot_of(*step);
    return slot && is_slot && is_slot(*slot);
  }
  if (!sets_yield_call(*step)) return false;
  const auto call = code.at(step->next());
  return call && call->is(ZYDIS_MNEMONIC_SYSCALL);
}

bool calls_yield(const Instruction& call, const YieldCalls& yields) {
  if (const auto slot = slot_of(call)) return yields.is_slot && yields.is_slot(*slot);
  if (call.code.raw.imm[0].is_relative == 0) return false;
  const std::uint64_t target =
      call.next() + static_cast<std::uint64_t>(call.code.raw.imm[0].value.s);
  return yields.is_function && yields.is_function(target);
}

// What a loop does, as far as the rule asks.
struct Doing {
  bool pauses = false, yields = false, calls = false, stores = false, compares = false;
  bool works = false;  // what no loop needs that only waits
  std::size_t loads = 0;
  std::set<ZydisRegister> written, addressing;  // the second: what its loads find their place by
  std::set<ZydisRegister> counters, loaded;     // stepped by a constant; filled from memory
};

bool is_atomic(const Instruction& instruction) {
  return (instruction.is(ZYDIS_MNEMONIC_XCHG) &&
          (instruction.has_memory(0) || instruction.has_memory(1))) ||
         (instruction.code.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0;
}

// Moves, compares, counts, reads the clock: nothing that a wait may not do.
bool is_harmless(const Instruction& instruction) {
  const std::string_view name = ZydisMnemonicGetString(instruction.code.mnemonic);
  return name.starts_with("set") ||
         instruction.is_any({ZYDIS_MNEMONIC_XCHG, ZYDIS_MNEMONIC_MOV, ZYDIS_MNEMONIC_MOVZX,
                             ZYDIS_MNEMONIC_MOVSX, ZYDIS_MNEMONIC_MOVSXD, ZYDIS_MNEMONIC_CMP,
                             ZYDIS_MNEMONIC_TEST, ZYDIS_MNEMONIC_RDTSC, ZYDIS_MNEMONIC_LFENCE,
                             ZYDIS_MNEMONIC_MFENCE, ZYDIS_MNEMONIC_INC, ZYDIS_MNEMONIC_DEC,
                             ZYDIS_MNEMONIC_ADD, ZYDIS_MNEMONIC_SUB, ZYDIS_MNEMONIC_XOR,
                             ZYDIS_MNEMONIC_AND, ZYDIS_MNEMONIC_LEA});
}

// A register that takes in something other than a constant carries a result from round to round.
// (What subtracts compares times.)
bool carries_on(const Instruction& instruction) {
  if (!instruction.is_any({ZYDIS_MNEMONIC_ADD, ZYDIS_MNEMONIC_XOR, ZYDIS_MNEMONIC_AND}))
    return false;
  const ZydisRegister to = register_of(instruction, 0);
  if (to == ZYDIS_REGISTER_NONE || instruction.has_immediate(1)) return false;
  return !(instruction.is(ZYDIS_MNEMONIC_XOR) && register_of(instruction, 1) == to);
}

void note_counter(const Instruction& instruction, Doing& doing) {
  const ZydisRegister to = register_of(instruction, 0);
  if (to == ZYDIS_REGISTER_NONE) return;
  const bool steps =
      instruction.is_any({ZYDIS_MNEMONIC_INC, ZYDIS_MNEMONIC_DEC}) ||
      (instruction.is_any({ZYDIS_MNEMONIC_ADD, ZYDIS_MNEMONIC_SUB}) &&
       instruction.has_immediate(1)) ||
      (instruction.is(ZYDIS_MNEMONIC_LEA) && whole(instruction.operands[1].mem.base) == to);
  if (steps) doing.counters.insert(to);
  if (instruction.is_any({ZYDIS_MNEMONIC_MOV, ZYDIS_MNEMONIC_MOVZX, ZYDIS_MNEMONIC_MOVSXD}) &&
      instruction.has_memory(1)) {
    doing.loaded.insert(to);
  }
}

void note_operands(const Instruction& instruction, Doing& doing) {
  for (const ZydisDecodedOperand& operand : instruction.used()) {
    const bool writes = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER && writes)
      doing.written.insert(whole(operand.reg.value));
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.type != ZYDIS_MEMOP_TYPE_MEM)
      continue;
    if (writes && !is_atomic(instruction)) doing.stores = true;
    if ((operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) == 0) continue;
    ++doing.loads;
    for (const ZydisRegister part : {operand.mem.base, operand.mem.index}) {
      if (part != ZYDIS_REGISTER_NONE && part != ZYDIS_REGISTER_RIP)
        doing.addressing.insert(whole(part));
    }
  }
}

Doing doing_of(const std::vector<Instruction>& body, const YieldCalls& yields) {
  Doing doing;
  bool yield_call = false;  // the number of the next system call is sched_yield's
  for (const Instruction& instruction : body) {
    const auto category = instruction.code.meta.category;
    if (is_pause(instruction)) {
      doing.pauses = true;
    } else if (category == ZYDIS_CATEGORY_CALL) {
      (calls_yield(instruction, yields) ? doing.yields : doing.calls) = true;
    } else if (instruction.is(ZYDIS_MNEMONIC_SYSCALL)) {
      (yield_call ? doing.yields : doing.calls) = true;
    } else if (category != ZYDIS_CATEGORY_COND_BR && category != ZYDIS_CATEGORY_UNCOND_BR &&
               category != ZYDIS_CATEGORY_NOP && !instruction.is(ZYDIS_MNEMONIC_ENDBR64)) {
      if (sets_yield_call(instruction)) yield_call = true;
      if (instruction.is_any({ZYDIS_MNEMONIC_CMP, ZYDIS_MNEMONIC_TEST})) doing.compares = true;
      if ((!is_atomic(instruction) && !is_harmless(instruction)) || carries_on(instruction))
        doing.works = true;
      note_operands(instruction, doing);
      note_counter(instruction, doing);
    }
  }
  return doing;
}

// `for (i = 0; i < *n; i++)`: it ends by itself.
bool counts_to_a_load(const std::vector<Instruction>& body, const Doing& doing) {
  return std::any_of(body.begin(), body.end(), [&](const Instruction& instruction) {
    if (!instruction.is(ZYDIS_MNEMONIC_CMP)) return false;
    bool counter = false, load = false;
    for (const std::size_t operand : {0U, 1U}) {
      const ZydisRegister name = register_of(instruction, operand);
      counter = counter || doing.counters.contains(name);
      load = load || doing.loaded.contains(name) || instruction.has_memory(operand);
    }
    return counter && load;
  });
}

Wait wait_of(const std::vector<Instruction>& body, const YieldCalls& yields, Waiter waiter) {
  const Doing doing = doing_of(body, yields);
  const std::size_t longest =
      waiter == Waiter::kThreadRuntime ? kLongestRuntimeLoop : kLongestPauseLoop;
  if (doing.pauses && body.size() <= longest) return Wait::kPause;
  if (doing.yields && body.size() <= longest) return Wait::kYield;
  const bool same_place =
      std::none_of(doing.addressing.begin(), doing.addressing.end(),
                   [&](ZydisRegister name) { return doing.written.contains(name); });
  if (doing.stores || doing.calls || doing.yields || doing.works || doing.loads == 0 ||
      !same_place || counts_to_a_load(body, doing)) {
    return Wait::kNone;
  }
  return body.size() <= (doing.compares ? kLongestPoll : kLongestRetry) ? Wait::kPoll : Wait::kNone;
}

// In a function that a loop elsewhere calls to pause.
bool beside_pause(const Code& code, std::uint64_t ip) {
  constexpr std::uint64_t kPauseBytes = 2;
  const auto here = code.at(ip), before = code.at(ip - kPauseBytes);
  return (here && here->is(ZYDIS_MNEMONIC_PAUSE)) || (before && before->is(ZYDIS_MNEMONIC_PAUSE));
}

}  // namespace

LoopJudgement judge_loop_x86(std::span<const std::byte> bytes, std::uint64_t code_address,
                             std::uint64_t sampled_ip, const YieldCalls& yields, Waiter waiter) {
  LoopBounds bounds;
  LoopJudgement judged{classify_loop_x86(bytes, code_address, sampled_ip, &bounds)};
  if (judged.loop.width != LoopWidth::kNoArithmetic && judged.loop.width != LoopWidth::kNoLoop)
    return judged;
  const Code code(bytes, code_address);
  for (std::uint64_t back = 0; back <= kYieldBytes && judged.wait == Wait::kNone; ++back) {
    if (yields_from(code, sampled_ip - back, yields.is_slot)) judged.wait = Wait::kYield;
  }
  if (judged.wait == Wait::kNone && judged.loop.width == LoopWidth::kNoArithmetic)
    judged.wait = wait_of(code.between(bounds), yields, waiter);
  if (judged.wait == Wait::kNone && beside_pause(code, sampled_ip)) judged.wait = Wait::kPause;
  return judged;
}

bool begins_yield_x86(std::span<const std::byte> code, std::uint64_t code_address,
                      const std::function<bool(std::uint64_t)>& is_slot) {
  return yields_from(Code(code, code_address), code_address, is_slot);
}

}  // namespace hwprof::observe
