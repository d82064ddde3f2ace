// Which routine a symbol is, in the audit library.
#pragma once

#include "src/observe/audit/elf_object.h"
#include "src/observe/routines/blas_routine.h"

namespace hwprof::observe::audit {

// A routine, by what its file may call it; then what it is to be known by.
struct NamedRoutine {
  Routine routine;
  char usual[routine_names::kFortranBytes];
  const char* name = nullptr;
};

inline bool may_be_routine(const char* name, NamedRoutine& found) {
  const bool capitals = *name >= 'B' && *name <= 'Z';
  bool bare = false;
  if (!capitals && !find_spelling(name, found.routine, bare)) return false;
  found.name = capitals || bare ? found.usual : name;
  if (found.name == name) return true;
  return routine_names::usual_spelling(name, found.usual) &&
         (!capitals || find_routine(found.usual, found.routine));
}

// A function of the program's own may be called "dgemm", and take other arguments: a routine has
// its usual name, too.
inline bool is_routine(const char* name, u64 address, const link_map* library,
                       const ProgramHeaders& own, NamedRoutine& found) {
  return may_be_routine(name, found) &&
         (found.name == name || ElfObject(library, own).defines(found.name, address));
}

}  // namespace hwprof::observe::audit
