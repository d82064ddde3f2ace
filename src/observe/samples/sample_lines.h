// The lines that a sample stands under, of Python and of compiled code, in one stack: those of the
// user's own code, since what a library does belongs to the line that called it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/observe/python/line_stacks.h"
#include "src/observe/samples/code_lines.h"
#include "src/observe/samples/line_profile.h"
#include "src/observe/samples/sample_table.h"

namespace hwprof::observe {

// A line of a file, and not of a package that was installed or of Python's own library.
bool is_users(const report::SourceLine& line, const report::SourceLine& outermost);
// Which frame of a stack of Python, innermost first, has its time: the innermost one of the user's,
// else of any file, else the first.
std::size_t user_frame(const std::vector<const report::SourceLine*>& stack);
// Of compiled code: no header of the system or the compiler.
bool is_users_source(const std::string& file);

class SampleLines {
 public:
  SampleLines(SampleTable& table, const CodeLines& code, const LineStacks& python,
              SourceLines& numbers)
      : table_(table), code_(code), python_(python), numbers_(numbers) {}

  LineStack of(const LineSite& site);
  // As LineProfile::unlined.
  std::map<std::string, double> unlined();

 private:
  LineStack found(const LineSite& site);
  // The first file from the innermost known line inwards that is the user's and has no line; "".
  std::string unlined_object(const std::vector<CodePlace>& places);
  // Of the user's, innermost first, by number.
  const std::vector<std::uint32_t>& lines_of(CodePlace place);

  SampleTable& table_;
  const CodeLines& code_;
  const LineStacks& python_;
  SourceLines& numbers_;
  std::map<LineSite, LineStack> known_;
  std::map<CodePlace, std::vector<std::uint32_t>> lines_;
};

}  // namespace hwprof::observe
