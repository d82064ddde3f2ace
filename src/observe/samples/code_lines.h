// Source lines of the compiled code that sampled stacks lead through, by DWARF. Each instruction is
// looked up once, when the program has ended and the most sampled first: of a large source file
// that takes milliseconds.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/model/stacks.h"
#include "src/observe/samples/images.h"
#include "src/observe/samples/stack_table.h"

namespace hwprof::observe {

// Of Python's own library, or of a package that is installed.
bool is_of_python(const std::string& path);
// A file of the program's own: none of the system's libraries, of an installed package, of the
// interpreter or of hwprof.
bool is_users_object(const std::string& path);

class CodeLines {
 public:
  enum class Of { kUsersObjects, kAllObjects };
  void look_up(Images& images, const StackTable& stacks, Of which);

  // As ElfCode::lines(), each with its function. Empty: none is known, or was looked up.
  [[nodiscard]] const std::vector<report::SourceLine>& of(CodePlace place) const;
  // Some line of its file is known.
  [[nodiscard]] bool has_lines(CodePlace place) const { return images_.contains(place.image); }
  // What there was no time for; "": all was looked up.
  [[nodiscard]] const std::string& note() const { return note_; }

 private:
  std::map<CodePlace, std::vector<report::SourceLine>> lines_;
  std::set<std::uint32_t> images_;  // with lines
  std::string note_;
};

}  // namespace hwprof::observe
