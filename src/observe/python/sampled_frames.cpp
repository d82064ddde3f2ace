#include "src/observe/python/sampled_frames.h"

#include <algorithm>

namespace hwprof::observe {
namespace {

constexpr std::uint64_t kUnit = 2;
// The next instruction may lie so far behind the one in the frame: its inline caches.
constexpr std::uint64_t kMostAhead = 24;
// Of the function's own frame on the stack, where a register was put aside.
constexpr std::uint64_t kMostSlots = 64;

// Where the next instruction may be, the likeliest place first.
std::vector<std::uint64_t> candidates(const UnwoundFrame& frame) {
  std::vector<std::uint64_t> values;
  for (std::size_t number = kRegisters - 1; number-- > 0;)
    if (number != kStackPointer && frame.registers.has(number))
      values.push_back(frame.registers.values.at(number));
  return values;
}

std::vector<std::uint64_t> slots(const UnwoundFrame& frame, StackMemory& memory) {
  std::vector<std::uint64_t> values;
  if (!frame.registers.has(kStackPointer)) return values;
  std::uint64_t at = frame.registers.values[kStackPointer];
  for (std::uint64_t i = 0; i < kMostSlots && at < frame.cfa; ++i, at += 8) {
    std::uint64_t value = 0;
    if (!memory.word(at, value)) break;
    values.push_back(value);
  }
  return values;
}

bool within(const PythonCode& code, std::uint64_t next) {
  return next > code.begin && next <= code.begin + code.units * kUnit && next % kUnit == 0;
}

// A frame that still stands at the instruction before `next`, and those around it.
std::optional<std::vector<PythonFrame>> same(const std::vector<PythonFrame>& living,
                                             std::uint64_t next) {
  const auto frame = std::find_if(living.begin(), living.end(), [&](const PythonFrame& one) {
    return within(*one.code, next) && next > one.instruction &&
           next - one.instruction <= kMostAhead;
  });
  if (frame == living.end()) return std::nullopt;
  return std::vector<PythonFrame>(frame, living.end());
}

// A frame that has gone on, within its function: those around it wait for it.
std::optional<std::vector<PythonFrame>> gone_on(const std::vector<PythonFrame>& living,
                                                std::uint64_t next) {
  const auto frame = std::find_if(living.begin(), living.end(),
                                  [&](const PythonFrame& one) { return within(*one.code, next); });
  if (frame == living.end()) return std::nullopt;
  std::vector<PythonFrame> frames(frame, living.end());
  frames.front().instruction = next - kUnit;
  const auto line = frames.front().code->line(next - kUnit);
  if (!line) return std::nullopt;
  frames.front().line = *line;
  return frames;
}

}  // namespace

std::optional<std::vector<PythonFrame>> sampled_frames(const PythonInterpreter& interpreter,
                                                       const UnwoundStack& stack,
                                                       StackMemory& memory,
                                                       const std::vector<PythonFrame>& living,
                                                       const CodeHolding& code_holding) {
  const auto frame =
      std::find_if(stack.frames.begin(), stack.frames.end(), [&](const UnwoundFrame& one) {
        return one.executed() >= interpreter.eval_begin && one.executed() < interpreter.eval_end;
      });
  if (frame == stack.frames.end()) return std::nullopt;
  const std::vector<std::uint64_t> registers = candidates(*frame);
  for (const std::uint64_t next : registers)
    if (auto frames = same(living, next)) return frames;
  for (const std::uint64_t next : registers)
    if (auto frames = gone_on(living, next)) return frames;
  for (const std::uint64_t next : registers) {
    const auto code = code_holding(next - kUnit);
    if (code == nullptr || !within(*code, next)) continue;
    if (const auto line = code->line(next - kUnit))
      return std::vector<PythonFrame>{{code, *line, next - kUnit}};
  }
  for (const std::uint64_t next : slots(*frame, memory))
    if (auto frames = same(living, next)) return frames;
  return std::nullopt;
}

}  // namespace hwprof::observe
