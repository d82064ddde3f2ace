// Where CPython keeps what a line of a program is found by: offsets in its own structs, which each
// minor version has anew. 3.11 and 3.12 from their headers (Include/internal/pycore_frame.h,
// pycore_runtime.h, pycore_interp.h; Include/cpython/pystate.h, code.h, unicodeobject.h); 3.13 says
// them itself at the start of _PyRuntime (_Py_DebugOffsets).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace hwprof::observe {

struct PythonLayout {
  // _PyRuntime to its first interpreter, to the next one, to its first thread.
  std::uint32_t first_interpreter = 0, next_interpreter = 0, first_thread = 0;
  // Of a thread: the next one, the kernel's number, the innermost frame or what points to it.
  std::uint32_t next_thread = 0, native_id = 0, frame = 0;
  std::optional<std::uint32_t> frame_in_record =
      {};  // 3.11, 3.12: `frame` is a _PyCFrame's address
  // Of a frame.
  std::uint32_t code = 0, previous = 0, instruction = 0, owner = 0;
  // 3.11: whether C called it, a byte.
  std::optional<std::uint32_t> is_entry = {};
  // Owner of a frame that stands for a call from C and has no code; absent: there is none such.
  std::optional<std::uint8_t> entry_owner = {};
  // Of a code object.
  std::uint32_t first_line = 0, file = 0, name = 0, line_table = 0, instructions = 0;
  // Characters of a text, in ASCII and of other kinds; of bytes.
  std::uint32_t ascii = 0, characters = 0, bytes = 0;
};

// What is the same in all of them.
inline constexpr std::uint32_t kObjectType = 8, kObjectSize = 16;  // PyObject, PyVarObject
inline constexpr std::uint32_t kTextLength = 16, kTextState = 32;  // PyASCIIObject
inline constexpr std::uint32_t kFrameBytes = 72, kCodeBytes = 208, kThreadBytes = 192;

// Bytes of _Py_DebugOffsets that are read.
inline constexpr std::size_t kDebugOffsetsBytes = 584;

// 3.11 from 0x030b00f0 on; absent for other versions.
std::optional<PythonLayout> python_layout(std::uint32_t version,
                                          std::span<const std::byte> debug_offsets);

// "3.11", of Py_Version.
std::string python_version_text(std::uint32_t version);

}  // namespace hwprof::observe
