#include "src/observe/python/python_watch.h"

#include <fmt/format.h>

#include "src/base/clock.h"
#include "src/observe/python/sampled_frames.h"

namespace hwprof::observe {
namespace {

// A thread that has run on for longer than this may be at any other line. Twice what a sample lies
// behind the next one at 997 Hz would be chance.
constexpr std::uint64_t kLateNs = 1'000'000;
constexpr std::size_t kMostProcesses = 1024;
// Of a process with more, whose line a worker serves cannot be told.
constexpr std::size_t kMostPythonThreads = 4;

std::uint64_t reading_time_ns() { return static_cast<std::uint64_t>(wall_ns()); }

NoLine why(PythonStack::State state) {
  switch (state) {
    case PythonStack::State::kRead:
      return NoLine::kNone;
    case PythonStack::State::kNoThread:
      return NoLine::kWorker;
    case PythonStack::State::kNoFrame:
      return NoLine::kNoFrame;
    case PythonStack::State::kMoved:
      return NoLine::kMoved;
    case PythonStack::State::kUnreadable:
      return NoLine::kGone;
  }
  return NoLine::kGone;
}

}  // namespace

ReadMemory PythonWatch::memory_of(pid_t pid) {
  return [this, pid](std::uint64_t address, std::span<std::byte> to) {
    return memory_.read(pid, address, to);
  };
}

void PythonWatch::find_interpreter(pid_t pid, Process& process) {
  process.looked = true;
  process.interpreter = interpreters_.of(pid, memory_of(pid));
  if (!process.interpreter) return;
  if (!process.interpreter->layout) {
    unknown_.insert(process.interpreter->name);
    return;
  }
  versions_.insert(process.interpreter->name);
  process.frames = std::make_unique<PythonFrames>(
      *process.interpreter->layout, process.interpreter->runtime, process.interpreter->code_type);
}

void PythonWatch::apply(const Record& record) {
  if (const auto* mapped = std::get_if<Mapped>(&record.body)) {
    const auto known = processes_.find(mapped->pid);
    if (known != processes_.end() && known->second.frames == nullptr &&
        Interpreters::may_hold(mapped->path))
      processes_.erase(known);
  } else if (const auto* named = std::get_if<Named>(&record.body)) {
    if (named->by_exec) processes_.erase(named->pid);
  } else if (const auto* exited = std::get_if<Exited>(&record.body)) {
    if (exited->pid == exited->tid) processes_.erase(exited->pid);
  }
}

void PythonWatch::look_at_others(Process& process, pid_t pid, PythonRead& read) {
  const ReadMemory memory = memory_of(pid);
  const std::vector<pid_t> threads = process.frames->threads(memory, read.read_ns);
  if (threads.empty()) read.why_not = NoLine::kNoFrame;
  if (threads.size() > kMostPythonThreads) return;
  for (const pid_t other : threads) {
    const PythonStack stack = process.frames->read(memory, pid, other, read.read_ns);
    if (stack.state == PythonStack::State::kRead)
      read.others.emplace_back(other, stacks_.number(stack.frames));
  }
}

PythonLook PythonWatch::look(pid_t pid, pid_t tid, std::uint64_t time_ns) {
  if (processes_.size() >= kMostProcesses && !processes_.contains(pid)) processes_.clear();
  Process& process = processes_[pid];
  if (!process.looked) find_interpreter(pid, process);
  PythonLook look{.read = {.read_ns = reading_time_ns()}, .pid = pid};
  if (process.frames == nullptr) {
    look.read.why_not = process.interpreter ? NoLine::kUnknownPython : NoLine::kNotPython;
    return look;
  }
  PythonStack stack = process.frames->read(memory_of(pid), pid, tid, look.read.read_ns);
  look.read.why_not = why(stack.state);
  if (look.read.why_not == NoLine::kWorker) look_at_others(process, pid, look.read);
  look.frames = std::move(stack.frames);
  if (look.read.why_not == NoLine::kNone && look.read.read_ns > time_ns + kLateNs)
    look.read.why_not = NoLine::kLate;
  return look;
}

std::uint32_t PythonWatch::stack_of_call(pid_t pid, std::span<const CalledFunction> functions) {
  if (processes_.size() >= kMostProcesses && !processes_.contains(pid)) processes_.clear();
  Process& process = processes_[pid];
  if (!process.looked) find_interpreter(pid, process);
  if (process.frames == nullptr) return 0;
  const auto frames = process.frames->of_call(memory_of(pid), functions, reading_time_ns());
  return frames.empty() ? 0 : stacks_.number(frames);
}

void PythonWatch::settle(PythonLook& look, const UnwoundSample* sample) {
  PythonRead& read = look.read;
  const auto process = processes_.find(look.pid);
  const bool asks = sample != nullptr && process != processes_.end() &&
                    process->second.frames != nullptr && read.why_not != NoLine::kWorker;
  if (asks) {
    const auto frames = sampled_frames(
        *process->second.interpreter, sample->stack, sample->memory, look.frames,
        [&](std::uint64_t address) { return process->second.frames->code_holding(address); });
    if (frames) {
      look.frames = *frames;
      read.why_not = NoLine::kNone;
      read.exact = true;
    }
  }
  if (look.frames.empty()) return;
  read.stack = stacks_.number(look.frames);
  if (read.stack == 0) read.why_not = NoLine::kNoRoom;
}

std::vector<std::string> PythonWatch::notes() const {
  std::vector<std::string> notes;
  for (const std::string& version : unknown_) {
    notes.push_back(
        fmt::format("no lines and functions of {}: hwprof reads the frames of CPython 3.11, 3.12 "
                    "and 3.13 alone",
                    version));
  }
  return notes;
}

}  // namespace hwprof::observe
