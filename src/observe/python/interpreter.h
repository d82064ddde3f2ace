// Whether a process runs Python, which version, and where its interpreter keeps its state: by the
// symbols that the program or libpython exports.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "src/observe/perf/records.h"
#include "src/observe/proc/read_memory.h"
#include "src/observe/python/layout.h"

namespace hwprof::observe {

struct PythonInterpreter {
  std::string name;                    // "Python 3.11.2"
  std::optional<PythonLayout> layout;  // absent: of a version whose layout is not known
  // Addresses in the process.
  std::uint64_t runtime = 0, code_type = 0;
  std::uint64_t eval_begin = 0, eval_end = 0;  // of _PyEval_EvalFrameDefault
};

class Interpreters {
 public:
  // Absent: the process runs no Python whose symbols are there.
  std::optional<PythonInterpreter> of(pid_t pid, const ReadMemory& memory);

  // Whether a file of that name could be, or hold, an interpreter.
  static bool may_hold(const std::string& path);

 private:
  // Addresses in the file, of one that has them all.
  struct Symbols {
    std::uint64_t runtime = 0, version = 0, code_type = 0, eval = 0, eval_bytes = 0;
  };
  struct File {
    bool older = false;  // of 3.7 to 3.10
    std::optional<Symbols> symbols;
    std::uint64_t address = 0;  // at which its first executable byte lies
  };
  const File& file_of(pid_t pid, const Mapped& mapped);

  std::map<FileId, File> files_;
};

}  // namespace hwprof::observe
