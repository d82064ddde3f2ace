// What DWARF says of instructions: by the unit (a source file with what it includes) that each
// belongs to, its line, and the functions that the compiler inlined there.
#pragma once

#include <elfutils/libdwfl.h>

#include <optional>
#include <vector>

#include "src/model/stacks.h"

namespace hwprof::observe {

// Of one module, which stays the same; `address` is one of its own.
class CodeUnits {
 public:
  // Of the innermost function, which may be an inlined one; its name is not looked up.
  std::optional<report::SourceLine> line(Dwfl_Module* module, Dwarf_Addr address);
  // That, then the line of each call that was inlined around it. Functions have their names, but
  // for the last one, which was not inlined. Empty: no line is known.
  std::vector<report::SourceLine> lines(Dwfl_Module* module, Dwarf_Addr address);

 private:
  struct Unit {
    Dwarf_Die* die = nullptr;  // nullptr: none
    Dwarf_Addr bias = 0;       // of the module's addresses over DWARF's
  };
  struct Range {
    Dwarf_Addr begin = 0, end = 0;
    Unit unit;
  };
  Unit unit_at(Dwfl_Module* module, Dwarf_Addr address);
  void read_ranges(Dwfl_Module* module);

  std::optional<std::vector<Range>> ranges_;  // by begin; absent: not needed so far
};

}  // namespace hwprof::observe
