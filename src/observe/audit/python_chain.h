// From a thread of CPython to its frames: of what src/observe/python/layout.h knows, so much as the
// audit library needs, which stands on nothing.
#pragma once

#include "src/observe/audit/table.h"

namespace hwprof::observe::audit {

struct PythonChain {
  bool known = false;
  u32 frame = 0;  // of a thread: the innermost frame, or the record that has its address
  bool frame_in_record = false;
  u32 in_record = 0;
  // Of a frame.
  u32 code = 0, previous = 0, instruction = 0;
  // A word of it with a byte that tells: whether C has called the function (3.11), or that the
  // frame stands for such a call and has no function.
  u32 flags = 64, byte = 0;
  bool is_entry = false;  // of 3.11
  static constexpr u64 kEntryOwner = 3;
};

// `version`: Py_Version. `runtime`: the first words of _PyRuntime, at which 3.13 describes itself.
constexpr PythonChain python_chain(u64 version, const u64* runtime) {
  constexpr u64 kLargest = 4096;
  switch (version >> 16) {
    case 0x030b:
      return {.known = true,
              .frame = 56,
              .frame_in_record = true,
              .in_record = 8,
              .code = 32,
              .previous = 48,
              .instruction = 56,
              .byte = 4,
              .is_entry = true};
    case 0x030c:
      return {.known = true,
              .frame = 56,
              .frame_in_record = true,
              .in_record = 0,
              .code = 0,
              .previous = 8,
              .instruction = 56,
              .byte = 6};
    case 0x030d: {
      // In the order of _Py_DebugOffsets.
      constexpr u32 kFreeThreaded = 2, kCurrentFrame = 23, kPrevious = 29, kExecutable = 30,
                    kInstruction = 31, kOwner = 33;
      if (runtime == nullptr || runtime[kFreeThreaded] != 0) return {};
      constexpr u32 kAll[] = {kCurrentFrame, kPrevious, kExecutable, kInstruction, kOwner};
      for (const u32 place : kAll)
        if (runtime[place] >= kLargest) return {};
      const auto at = [&](u32 place) { return static_cast<u32>(runtime[place]); };
      return {.known = true,
              .frame = at(kCurrentFrame),
              .code = at(kExecutable),
              .previous = at(kPrevious),
              .instruction = at(kInstruction),
              .flags = at(kOwner) / 8 * 8,
              .byte = at(kOwner) % 8};
    }
    default:
      return {};
  }
}

}  // namespace hwprof::observe::audit
