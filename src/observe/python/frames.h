// The Python frames of a thread, read out of the living process while it goes on. What is read is
// held against itself, and given only where the thread stood in the same frame before and after.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "src/observe/python/code_objects.h"
#include "src/observe/routines/call_stacks.h"

namespace hwprof::observe {

struct PythonFrame {
  std::shared_ptr<const PythonCode> code;
  std::int32_t line = 0;
  std::uint64_t instruction = 0;  // address of the one that runs, or called
  bool from_c = false;            // not called by the frame around it, but by C
};

struct PythonStack {
  enum class State : std::uint8_t {
    kRead,
    kNoThread,  // the interpreter does not know the thread
    kNoFrame,   // it runs no Python code: it starts, or ends
    kMoved,     // into other frames while it was read
    kUnreadable,
  };
  State state = State::kUnreadable;
  std::vector<PythonFrame> frames;  // innermost first
};

class PythonFrames {
 public:
  // `runtime` and `code_type`: addresses of _PyRuntime and PyCode_Type in the process.
  PythonFrames(const PythonLayout& layout, std::uint64_t runtime, std::uint64_t code_type)
      : layout_(layout), runtime_(runtime), codes_(layout, code_type) {}

  PythonStack read(const ReadMemory& memory, pid_t pid, pid_t tid, std::uint64_t now_ns);
  // What a thread was in at a call; nothing: not all of it is there any more.
  std::vector<PythonFrame> of_call(const ReadMemory& memory,
                                   std::span<const CalledFunction> functions, std::uint64_t now_ns);
  // Those that the interpreter knows, ascending.
  std::vector<pid_t> threads(const ReadMemory& memory, std::uint64_t now_ns);
  // As CodeObjects::holding().
  [[nodiscard]] std::shared_ptr<const PythonCode> code_holding(std::uint64_t address) const {
    return codes_.holding(address);
  }

 private:
  void look_for_threads(const ReadMemory& memory, std::uint64_t now_ns);
  std::uint64_t state_of(const ReadMemory& memory, pid_t pid, pid_t tid, std::uint64_t now_ns);
  [[nodiscard]] std::optional<std::uint64_t> innermost(const ReadMemory& memory,
                                                       std::uint64_t state) const;
  PythonStack::State walk(const ReadMemory& memory, std::uint64_t frame, std::uint64_t now_ns,
                          std::vector<PythonFrame>& frames);

  PythonLayout layout_;
  std::uint64_t runtime_;
  CodeObjects codes_;
  std::map<pid_t, std::uint64_t> states_;  // addresses, by the kernel's number
  std::uint64_t looked_ns_ = 0;
};

}  // namespace hwprof::observe
