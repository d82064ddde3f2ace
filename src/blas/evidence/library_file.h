// E1, one file: who made it, by its symbols and never by its name (libblas.so.3 is the name of six
// different libraries), whether it matters to the verdict, and where in it the library keeps what
// it has chosen. A BLAS may be inside of any object: of libtorch_cpu, of the program itself.
// Nothing is loaded here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/blas/providers/choice.h"
#include "src/observe/elf/elf_file.h"

namespace hwprof::blas {

struct FileIdentity {
  report::Provider provider = report::Provider::kUnknown;
  bool threaded = false;  // known of OpenBLAS only: it has or takes threaded products
};
// Absent when the file is no shared library of this architecture with an sgemm_ of its own, or
// hands its work to a GPU.
std::optional<FileIdentity> identify_file(const std::string& path);

// Whether the constants of the file hold `text`: a library that reads a variable holds its name.
bool file_mentions(const std::string& path, const std::string& text);

struct LibraryFile : ChoiceSymbols {
  report::Provider provider = report::Provider::kNone;
  bool serves_blas = false;  // has an sgemm_ of its own
  // Its kernels are in a library below it, which has the choice: Debian's libblas.so.3 of OpenBLAS.
  bool hands_on = false;
  bool elsewhere =
      false;  // as report::LoadedLibrary has it, where a process was asked for the file
  std::string soname, build_id;
  std::string version;  // that its constants name; "" when they name none
  std::vector<observe::ElfSegment> segments;
};

// Absent for a file that has nothing to do with BLAS or oneDNN. Of a program also the symbols that
// only debuggers read, and what its constants name, are looked at: it may be linked statically.
std::optional<LibraryFile> inspect_file(const std::string& path, bool is_program);

// "gotoblas" of "scipy_gotoblas64_"; "sgemm_" of "sgemm_64_" and "scipy_sgemm_64_".
std::string plain_symbol(std::string_view name);

}  // namespace hwprof::blas
