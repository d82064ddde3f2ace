// Where time went, by call stack, by source line and call by call: what flame graphs and timelines
// are drawn from. Plain structs, so that what measures and what draws know nothing of each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/model/fields.h"

namespace hwprof::model {

enum class Language : std::uint8_t { kPython, kNative };

template <>
struct EnumNames<Language> {
  static constexpr EnumName<Language> kAll[] = {
      {Language::kPython, "python", ""},
      {Language::kNative, "native", "C, C++, Fortran: compiled, with debug information"}};
};

// A line of a program's source, in one of its functions.
struct SourceLine {
  std::string file, function;
  std::int32_t line = 0;
  std::int32_t first_line = 0;  // of the function; 0: not known
  Language language = Language::kPython;

  auto operator<=>(const SourceLine&) const = default;  // NOLINT(modernize-use-nullptr)
};

// Equal stacks counted together. Names are as the program has them: nothing is escaped.
struct FoldedStack {
  std::vector<std::string> frames;  // outermost first; the first is the name of the process
  std::uint64_t samples = 0;
};

// The same by instruction and line instead of name, for a format that knows files, objects and the
// functions that were inlined. Of Python an instruction is a line.
struct PlacedStacks {
  struct Object {
    std::string path, build_id;  // hexadecimal; "": it has none
    std::uint64_t bytes = 0;     // of the file
  };
  struct Place {
    std::optional<std::size_t> object;  // absent: of Python, the kernel, generated code
    std::uint64_t offset = 0;           // in the object's file
    // Innermost first: each stands, inlined, within the next. The last is what FoldedStack names;
    // a line or file that is not known is 0 or "".
    std::vector<SourceLine> lines;
  };
  struct Stack {
    std::string process;              // its name
    std::vector<std::size_t> places;  // innermost first
    std::uint64_t samples = 0;
  };
  std::vector<Object> objects;  // first: the one that most stacks begin in
  std::vector<Place> places;
  std::vector<Stack> stacks;
};

struct HotLine {
  std::string file;
  int line = 0;
  std::string symbol;
  std::uint64_t samples = 0;
  double fraction = 0;  // of all samples
};

// A line of a program's own source that a call came from.
struct SpanLine {
  std::string file;
  std::int32_t line = 0;
  std::string function;
};

// A call of a region or of a routine.
struct TraceSpan {
  std::string name, thread;
  std::size_t depth = 0;  // in how many others
  double start_ns = 0;    // since the first
  double duration_ns = 0;
  // Of a routine.
  std::optional<std::uint32_t> process = {};  // as it knows itself
  std::optional<std::string> region = {};     // the path of those that were open in its thread
  std::optional<SpanLine> line = {};
  std::optional<std::vector<std::string>> stack = {};  // functions of Python, innermost first
};

template <>
const Record& record<FoldedStack>();
template <>
const Record& record<HotLine>();
template <>
const Record& record<SpanLine>();
template <>
const Record& record<TraceSpan>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::FoldedStack, model::HotLine, model::Language, model::PlacedStacks, model::SourceLine,
    model::SpanLine, model::TraceSpan;
}  // namespace hwprof::report
