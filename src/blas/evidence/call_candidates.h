// Which files a command may call BLAS routines in, found before it starts: a probe that is set only
// once a library is mapped misses the first calls. Rather too many than too few; what is missed
// here is found when it is mapped.
#pragma once

#include <string>
#include <vector>

namespace hwprof::blas {

struct CommandFiles {
  std::string program;                  // ELF file that the command runs first; "" not found
  bool setuid = false;                  // that runs with other rights than its caller's
  std::string interpreter;              // dynamic loader of `program`; "" when it is static
  std::vector<std::string> candidates;  // resolved paths, each once; not all hold routines
};

// Follows a script's first line, and env; takes programs named by arguments for part of it
// (`timeout 5 python3 x.py`).
CommandFiles command_files(const std::vector<std::string>& command);

}  // namespace hwprof::blas
