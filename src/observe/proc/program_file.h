// Which file a command names, and what keeps a program from being observed: a setuid bit, no
// dynamic loader. Looked up before anything starts, so that a misspelt command costs nothing.
#pragma once

#include <string>

#include "src/base/result.h"

namespace hwprof {

// As execvp(3) looks a command up in PATH, but without its shell for files that are no program.
// Error::code is ENOENT where there is no such command, else why it cannot be run (EACCES, EISDIR).
Result<std::string> find_program(const std::string& command);

struct ProgramFile {
  std::string path;  // of the ELF file that runs: for a script, its interpreter
  bool is_elf = false;
  bool is_static = false;  // no dynamic loader: nothing of it can be audited
  // Takes the rights of its owner or capabilities from its file, so that the kernel keeps users
  // without rights of their own from observing it.
  bool gains_rights = false;
};

// Follows `#!` lines as the kernel does. Never fails: what cannot be read is not claimed.
ProgramFile inspect_program(const std::string& path);

}  // namespace hwprof
