#include "src/observe/unwind/unwinder.h"

#include <array>
#include <optional>

#include "src/observe/unwind/expression.h"

namespace hwprof::observe {
namespace {

constexpr std::size_t kMostFrames = 1024;
constexpr std::uint64_t kWord = sizeof(std::uint64_t);
// Where a return address is looked for: behind what rbx keeps, at most so far from the stack
// pointer; else behind that.
constexpr std::uint64_t kSavedReach = 64U << 10U, kBehindSaved = 512, kBehindStackPointer = 4096;

struct ToCaller {
  std::optional<StackEnd> end;  // absent: there is a caller
  std::uint64_t cfa = 0;
  UnwoundFrame caller;
};

class Unwinder {
 public:
  Unwinder(UnwindCode& code, StackMemory& memory) : code_(code), memory_(memory) {}

  UnwoundStack follow(const Registers& hit) {
    UnwoundStack stack;
    if (!hit.has(kRip) || !hit.has(kStackPointer)) return stack;
    stack.frames.push_back({.pc = hit.values[kRip],
                            .cfa = 0,
                            .registers = hit,
                            .interrupted = true,
                            .guessed = false});
    while (stack.frames.size() < kMostFrames) {
      const UnwoundFrame frame = stack.frames.back();
      ToCaller step = from(frame);
      stack.frames.back().cfa = step.cfa;
      if (step.end) {
        stack.end = *step.end;
        return stack;
      }
      stack.frames.push_back(step.caller);
    }
    stack.end = StackEnd::kTooDeep;
    return stack;
  }

 private:
  ToCaller from(const UnwoundFrame& frame) {
    if (const UnwindRow* row = code_.row(frame.executed())) return by_row(frame, *row);
    if (code_.is_entry(frame.executed())) return {StackEnd::kWhole, 0, {}};
    if (auto caller = guess(frame)) return {std::nullopt, 0, *caller};
    return {StackEnd::kNoRule, 0, {}};
  }

  ToCaller by_row(const UnwoundFrame& frame, const UnwindRow& row) {
    const auto cfa = cfa_of(frame.registers, row);
    if (!cfa) return {StackEnd::kMemory, 0, {}};
    ToCaller step{std::nullopt, *cfa, {}};
    // A signal may have its own stack; else a stack only grows.
    if (*cfa % kWord != 0 || (!row.signal_frame && *cfa <= frame.registers.values[kStackPointer])) {
      step.end = StackEnd::kBroken;
      return step;
    }
    if (row.registers[kRip].rule == Rule::kUndefined) {
      step.end = StackEnd::kWhole;
      return step;
    }
    for (std::size_t number = 0; number < kRegisters; ++number)
      recover(number, frame.registers, row, *cfa, step.caller.registers);
    step.caller.registers.set(kStackPointer, *cfa);
    step.end = check(step.caller, row.signal_frame);
    return step;
  }

  std::optional<StackEnd> check(UnwoundFrame& caller, bool interrupted) {
    if (!caller.registers.has(kRip)) return StackEnd::kMemory;
    caller.pc = caller.registers.values[kRip];
    const bool hidden = code_.is_return_probe(caller.pc);
    caller.interrupted = interrupted || hidden;   // no call comes before that place
    if (caller.pc == 0) return StackEnd::kWhole;  // as the C library begins a thread
    const bool is_code = code_.row(caller.executed()) != nullptr || code_.is_entry(caller.pc) ||
                         interrupted || hidden || code_.follows_call(caller.pc);
    return is_code ? std::nullopt : std::optional(StackEnd::kBroken);
  }

  std::optional<std::uint64_t> cfa_of(const Registers& registers, const UnwindRow& row) {
    if (row.cfa_by_expression)
      return evaluate(row.expressions.front(), registers, std::nullopt, memory_);
    if (!registers.may_have(row.cfa_register)) return std::nullopt;
    return registers.values.at(row.cfa_register) + static_cast<std::uint64_t>(row.cfa_offset);
  }

  void recover(std::size_t number, const Registers& from, const UnwindRow& row, std::uint64_t cfa,
               Registers& to) {
    const RegisterRule& rule = row.registers.at(number);
    std::uint64_t value = 0;
    const auto copy = [&](std::size_t source) {
      to.values.at(number) = from.values.at(source);
      to.known[number] = from.known[source];
      to.doubted[number] = from.doubted[source];
    };
    switch (rule.rule) {
      case Rule::kUndefined:
      case Rule::kNotUnderstood:
        return;
      case Rule::kSame:
        return copy(number);
      case Rule::kRegister:
        return copy(static_cast<std::size_t>(rule.value));
      case Rule::kAtCfa:
        if (memory_.word(cfa + static_cast<std::uint64_t>(rule.value), value))
          to.set(number, value);
        return;
      case Rule::kIsCfa:
        return to.set(number, cfa + static_cast<std::uint64_t>(rule.value));
      case Rule::kAtExpression:
      case Rule::kIsExpression: {
        const auto& expression = row.expressions.at(static_cast<std::size_t>(rule.value));
        const auto result = evaluate(expression, from, cfa, memory_);
        if (!result) return;
        if (rule.rule == Rule::kIsExpression) return to.set(number, *result);
        if (memory_.word(*result, value)) to.set(number, value);
        return;
      }
    }
  }

  // Code of run-time compilers mostly keeps frame pointers, assembly mostly does not.
  std::optional<UnwoundFrame> guess(const UnwoundFrame& frame) {
    // In place of the caller, whose own caller is found.
    if (code_.is_return_probe(frame.pc))
      return scan(frame, frame.registers.values[kStackPointer], kBehindStackPointer);
    if (code_.is_generated(frame.executed())) {
      if (auto caller = by_frame_pointer(frame)) return caller;
      return by_scan(frame);
    }
    if (auto caller = by_scan(frame)) return caller;
    return by_frame_pointer(frame);
  }

  std::optional<UnwoundFrame> by_frame_pointer(const UnwoundFrame& frame) {
    const Registers& registers = frame.registers;
    const std::uint64_t at = registers.values[kFramePointer];
    std::uint64_t saved = 0, pc = 0;
    if (!registers.may_have(kFramePointer) || at % kWord != 0 ||
        at < registers.values[kStackPointer] || !memory_.word(at, saved) ||
        !memory_.word(at + kWord, pc) || (saved != 0 && saved <= at) || !code_.follows_call(pc)) {
      return std::nullopt;
    }
    UnwoundFrame caller = guessed(frame, pc, at + 2 * kWord);
    caller.registers.set(kFramePointer, saved);
    return caller;
  }

  std::optional<UnwoundFrame> by_scan(const UnwoundFrame& frame) {
    const Registers& registers = frame.registers;
    const std::uint64_t top = registers.values[kStackPointer];
    const std::uint64_t saved = registers.may_have(kRbx) ? registers.values[kRbx] : 0;
    if (saved > top && saved - top < kSavedReach) {
      if (auto caller = scan(frame, saved, kBehindSaved)) return caller;
    }
    return scan(frame, top, kBehindStackPointer);
  }

  std::optional<UnwoundFrame> scan(const UnwoundFrame& frame, std::uint64_t begin,
                                   std::uint64_t bytes) {
    begin &= ~(kWord - 1);
    for (std::uint64_t at = begin; at - begin < bytes; at += kWord) {
      std::uint64_t pc = 0;
      if (!memory_.word(at, pc)) return std::nullopt;
      if (!code_.follows_call(pc)) continue;
      UnwoundFrame caller = guessed(frame, pc, at + kWord);
      if (has_caller(caller)) return caller;
    }
    return std::nullopt;
  }

  // What has no unwind information either could be followed by another guess alone.
  bool has_caller(const UnwoundFrame& frame) {
    const UnwindRow* row = code_.row(frame.executed());
    if (row == nullptr) return true;
    const ToCaller step = by_row(frame, *row);
    return !step.end || *step.end == StackEnd::kWhole;
  }

  // It may have changed any register, and given none of them back yet.
  static UnwoundFrame guessed(const UnwoundFrame& frame, std::uint64_t pc, std::uint64_t top) {
    UnwoundFrame caller{.pc = pc, .cfa = 0, .registers = {}, .interrupted = false, .guessed = true};
    caller.registers.values = frame.registers.values;
    for (const std::size_t number : kCalleeSaved)
      caller.registers.doubted[number] = frame.registers.may_have(number);
    caller.registers.set(kStackPointer, top);
    caller.registers.set(kRip, pc);
    return caller;
  }

  UnwindCode& code_;
  StackMemory& memory_;
};

}  // namespace

UnwoundStack unwind(const Registers& hit, UnwindCode& code, StackMemory& memory) {
  return Unwinder(code, memory).follow(hit);
}

}  // namespace hwprof::observe
