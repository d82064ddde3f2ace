#include "src/observe/python/frames.h"

#include <array>

namespace hwprof::observe {
namespace {

constexpr std::size_t kMostInterpreters = 16, kMostPythonStates = 4096, kMostPythonFrames = 512;
// Between two looks for threads, where one is not known: those of a BLAS never are.
constexpr std::uint64_t kLookForThreadsNs = 20'000'000;

}  // namespace

void PythonFrames::look_for_threads(const ReadMemory& memory, std::uint64_t now_ns) {
  if (looked_ns_ != 0 && now_ns - looked_ns_ < kLookForThreadsNs) return;
  looked_ns_ = now_ns;
  states_.clear();
  auto interpreter = read_word<std::uint64_t>(memory, runtime_ + layout_.first_interpreter);
  for (std::size_t i = 0; interpreter && *interpreter != 0 && i < kMostInterpreters; ++i) {
    auto state = read_word<std::uint64_t>(memory, *interpreter + layout_.first_thread);
    while (state && *state != 0 && states_.size() < kMostPythonStates) {
      const auto tid = read_word<std::uint64_t>(memory, *state + layout_.native_id);
      if (!tid || !states_.emplace(static_cast<pid_t>(*tid), *state).second) break;
      state = read_word<std::uint64_t>(memory, *state + layout_.next_thread);
    }
    interpreter = read_word<std::uint64_t>(memory, *interpreter + layout_.next_interpreter);
  }
}

std::vector<pid_t> PythonFrames::threads(const ReadMemory& memory, std::uint64_t now_ns) {
  look_for_threads(memory, now_ns);
  std::vector<pid_t> threads;
  for (const auto& [tid, state] : states_) threads.push_back(tid);
  return threads;
}

// 0: not known.
std::uint64_t PythonFrames::state_of(const ReadMemory& memory, pid_t pid, pid_t tid,
                                     std::uint64_t now_ns) {
  const auto belongs = [&](std::uint64_t state, pid_t to) {
    const auto number = read_word<std::uint64_t>(memory, state + layout_.native_id);
    return number && static_cast<pid_t>(*number) == to;
  };
  if (const auto known = states_.find(tid); known != states_.end() && belongs(known->second, tid))
    return known->second;
  look_for_threads(memory, now_ns);
  if (const auto known = states_.find(tid); known != states_.end()) return known->second;
  // A child of fork() keeps the number of the thread that it is a copy of (until 3.12), and in a
  // container the kernel has other numbers.
  if (tid == pid && states_.size() == 1 && belongs(states_.begin()->second, states_.begin()->first))
    return states_.begin()->second;
  return 0;
}

std::optional<std::uint64_t> PythonFrames::innermost(const ReadMemory& memory,
                                                     std::uint64_t state) const {
  const auto first = read_word<std::uint64_t>(memory, state + layout_.frame);
  if (!first || *first == 0 || !layout_.frame_in_record) return first;
  return read_word<std::uint64_t>(memory, *first + *layout_.frame_in_record);
}

PythonStack::State PythonFrames::walk(const ReadMemory& memory, std::uint64_t frame,
                                      std::uint64_t now_ns, std::vector<PythonFrame>& frames) {
  for (std::size_t depth = 0; frame != 0 && depth < kMostPythonFrames; ++depth) {
    std::array<std::byte, kFrameBytes> bytes{};
    if (!memory(frame, bytes)) return PythonStack::State::kMoved;
    const auto word = [&](std::size_t at) { return word_at<std::uint64_t>(bytes, at).value_or(0); };
    frame = word(layout_.previous);
    if (layout_.entry_owner && word_at<std::uint8_t>(bytes, layout_.owner) == layout_.entry_owner) {
      if (!frames.empty()) frames.back().from_c = true;
      continue;
    }
    const std::uint64_t instruction = word(layout_.instruction);
    auto code = codes_.find(memory, word(layout_.code), now_ns);
    const auto line = code != nullptr ? code->line(instruction) : std::nullopt;
    if (!line) return PythonStack::State::kMoved;
    const bool from_c =
        layout_.is_entry && word_at<std::uint8_t>(bytes, *layout_.is_entry).value_or(0) != 0;
    frames.push_back({std::move(code), *line, instruction, from_c});
  }
  return frames.empty() ? PythonStack::State::kNoFrame : PythonStack::State::kRead;
}

std::vector<PythonFrame> PythonFrames::of_call(const ReadMemory& memory,
                                               std::span<const CalledFunction> functions,
                                               std::uint64_t now_ns) {
  std::vector<PythonFrame> frames;
  for (const CalledFunction& function : functions) {
    auto code = codes_.find(memory, function.code, now_ns);
    const auto line = code != nullptr ? code->line(function.instruction) : std::nullopt;
    if (!line) return {};
    frames.push_back({std::move(code), *line, function.instruction, function.from_c});
  }
  return frames;
}

PythonStack PythonFrames::read(const ReadMemory& memory, pid_t pid, pid_t tid,
                               std::uint64_t now_ns) {
  constexpr int kTries = 3;
  PythonStack stack;
  const std::uint64_t state = state_of(memory, pid, tid, now_ns);
  if (state == 0) return {.state = PythonStack::State::kNoThread, .frames = {}};
  for (int i = 0; i < kTries; ++i) {
    const auto frame = innermost(memory, state);
    if (!frame) return {.state = PythonStack::State::kUnreadable, .frames = {}};
    stack.frames.clear();
    stack.state = walk(memory, *frame, now_ns, stack.frames);
    if (stack.state != PythonStack::State::kMoved && innermost(memory, state) == frame)
      return stack;
  }
  return {.state = PythonStack::State::kMoved, .frames = {}};
}

}  // namespace hwprof::observe
