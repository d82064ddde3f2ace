#include "src/observe/python/layout.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "src/observe/proc/read_memory.h"

namespace hwprof::observe {
namespace {

constexpr PythonLayout k311 = {.first_interpreter = 40,
                               .next_interpreter = 0,
                               .first_thread = 16,
                               .next_thread = 8,
                               .native_id = 160,
                               .frame = 56,
                               .frame_in_record = 8,
                               .code = 32,
                               .previous = 48,
                               .instruction = 56,
                               .owner = 69,
                               .is_entry = 68,
                               .first_line = 72,
                               .file = 112,
                               .name = 128,
                               .line_table = 136,
                               .instructions = 184,
                               .ascii = 48,
                               .characters = 72,
                               .bytes = 32};
constexpr PythonLayout k312 = {.first_interpreter = 40,
                               .next_interpreter = 0,
                               .first_thread = 72,
                               .next_thread = 8,
                               .native_id = 144,
                               .frame = 56,
                               .frame_in_record = 0,
                               .code = 0,
                               .previous = 8,
                               .instruction = 56,
                               .owner = 70,
                               .entry_owner = 3,
                               .first_line = 68,
                               .file = 112,
                               .name = 128,
                               .line_table = 136,
                               .instructions = 192,
                               .ascii = 40,
                               .characters = 56,
                               .bytes = 32};

// Numbers of 8 bytes each, in the order of the struct of 3.13.
enum Place313 : std::size_t {
  kVersion = 1,
  kFreeThreaded = 2,
  kInterpretersHead = 5,
  kInterpreterNext = 8,
  kThreadsHead = 9,
  kThreadNext = 21,
  kCurrentFrame = 23,
  kNativeThreadId = 25,
  kFramePrevious = 29,
  kFrameExecutable = 30,
  kFrameInstruction = 31,
  kFrameOwner = 33,
  kCodeFile = 35,
  kCodeQualifiedName = 37,
  kCodeLineTable = 38,
  kCodeFirstLine = 39,
  kCodeInstructions = 43,
  kBytesCharacters = 66,
  kAsciiObjectSize = 70,
};

std::optional<PythonLayout> layout_of_313(std::span<const std::byte> told) {
  constexpr char kCookie[8] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};
  constexpr std::uint64_t kLargest = 1U << 20U;
  if (told.size() < kDebugOffsetsBytes || std::memcmp(told.data(), kCookie, sizeof kCookie) != 0 ||
      word_at<std::uint64_t>(told, kFreeThreaded * 8) != std::uint64_t{0})
    return std::nullopt;
  bool possible = true;
  const auto at = [&](Place313 place) {
    const std::uint64_t offset = word_at<std::uint64_t>(told, place * 8).value_or(kLargest);
    possible = possible && offset < kLargest;
    return static_cast<std::uint32_t>(offset);
  };
  const PythonLayout layout = {.first_interpreter = at(kInterpretersHead),
                               .next_interpreter = at(kInterpreterNext),
                               .first_thread = at(kThreadsHead),
                               .next_thread = at(kThreadNext),
                               .native_id = at(kNativeThreadId),
                               .frame = at(kCurrentFrame),
                               .code = at(kFrameExecutable),
                               .previous = at(kFramePrevious),
                               .instruction = at(kFrameInstruction),
                               .owner = at(kFrameOwner),
                               .entry_owner = 3,
                               .first_line = at(kCodeFirstLine),
                               .file = at(kCodeFile),
                               .name = at(kCodeQualifiedName),
                               .line_table = at(kCodeLineTable),
                               .instructions = at(kCodeInstructions),
                               .ascii = at(kAsciiObjectSize),
                               // PyCompactUnicodeObject: the UTF-8 form and its length.
                               .characters = at(kAsciiObjectSize) + 16,
                               .bytes = at(kBytesCharacters)};
  return possible ? std::optional(layout) : std::nullopt;
}

}  // namespace

std::optional<PythonLayout> python_layout(std::uint32_t version,
                                          std::span<const std::byte> debug_offsets) {
  switch (version >> 16U) {
    case 0x030b:
      return k311;
    case 0x030c:
      return k312;
    case 0x030d:
      return layout_of_313(debug_offsets);
    default:
      return std::nullopt;
  }
}

std::string python_version_text(std::uint32_t version) {
  return fmt::format("{}.{}.{}", version >> 24U, (version >> 16U) & 0xffU, (version >> 8U) & 0xffU);
}

}  // namespace hwprof::observe
