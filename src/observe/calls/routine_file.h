// A file that holds BLAS routines, and where in it each begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/unique_fd.h"
#include "src/observe/calls/mapped_file.h"
#include "src/observe/perf/records.h"
#include "src/observe/routines/blas_routine.h"

namespace hwprof::observe {

// Where a function may leave by a jump: what it goes to then returns in its place. Of what is not
// known, anything.
struct Jumps {
  bool direct = true;    // to a place in the file: another function, or a slot for one (PLT)
  bool by_table = true;  // to an address that it has read
};

struct EntryPoint {
  std::string symbol;
  std::uint64_t offset = 0;  // in the file
  std::uint64_t size = 0;    // 0: the symbol does not say
  Routine routine;
  Jumps jumps = {};
};

// OpenBLAS with LAPACK has some 700 of them; one with two interfaces, twice that.
inline constexpr std::size_t kMostEntryPoints = 2048;  // of a file

// Open since its symbols were read, so that it is this file that gets probed.
struct RoutineFile {
  std::string path;
  FileId id;  // one file may have several paths: hard links, bind mounts
  UniqueFd file;
  FileVersion version;              // before it was read
  std::vector<EntryPoint> entries;  // each place in the file once
  // What it may have besides, and why that is not among the entries: as what follows its path.
  std::vector<std::string> unseen;
};
// Absent when the file cannot be opened, is not regular, is not of this machine, or holds no
// routine.
std::optional<RoutineFile> open_routine_file(const std::string& path);
std::optional<RoutineFile> read_routines(UniqueFd file, const std::string& path);

// Whether what it holds is code whose routines are not read: ELF of another word size or machine,
// or Windows' format. Where a process has it mapped as code, its calls are not seen.
bool holds_foreign_code(int file);

// Whether it is who hears of wrong arguments in place of the BLAS (xerbla_), as Octave, which then
// throws an exception: through a probe of the return, no exception finds its way.
bool answers_for_blas(int file);

// Whether a BLAS routine, or one of its products, may begin in it: true as well of a file that
// cannot be opened.
bool may_hold_routines(const std::string& path, bool products_alone);

}  // namespace hwprof::observe
