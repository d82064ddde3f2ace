#include "src/observe/python/frames.h"
#include "src/observe/python/layout.h"
#include "tests/fuzz/fuzz.h"

// Memory of an interpreter: any address is one of its bytes, so that every pointer leads somewhere.
// _PyRuntime and PyCode_Type are at 0, so that a word of zeros is the type of a code object.
void fuzz(std::string_view text) {
  using namespace hwprof::observe;
  constexpr std::uint32_t kVersions[] = {0x030b02f0, 0x030c01f0, 0x030d00f0};
  Feed feed(text);
  const std::uint32_t version = kVersions[feed.below(std::size(kVersions))];
  const bool says_offsets = version == kVersions[2];
  const auto layout = python_layout(
      version, bytes_of(says_offsets ? feed.take(kDebugOffsetsBytes) : std::string_view()));
  const auto memory = bytes_of(feed.rest());
  if (!layout || memory.empty()) return;
  const ReadMemory read = [&](std::uint64_t address, std::span<std::byte> to) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = memory[(address + i) % memory.size()];
    return true;
  };
  PythonFrames frames(*layout, 0, 0);
  for (const pid_t tid : frames.threads(read, 1)) {
    const PythonStack stack = frames.read(read, tid, tid, 1);
    for (const PythonFrame& frame : stack.frames) {
      must(is_plain(frame.code->file) && is_plain(frame.code->function));
      frames.code_holding(frame.instruction);
    }
  }
}
