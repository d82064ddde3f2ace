// E1, one file that a process has mapped: whether it matters to the verdict, and where in it the
// library keeps what it has chosen. By its symbols, in any object: a BLAS may be inside of
// libtorch_cpu, and of the program itself.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/blas/evidence/elf_file.h"

namespace hwprof::blas {

struct MappedFile {
  std::string provider;      // as report::LoadedLibrary has it
  bool serves_blas = false;  // has an sgemm_ of its own
  // Its kernels are in a library below it, which has the choice: Debian's libblas.so.3 of OpenBLAS.
  bool hands_on = false;
  std::string soname, build_id;
  std::string version;  // that its constants name; "" when they name none
  // Addresses in the file of what core_in_memory() reads, by the name without prefix and suffix of
  // the build: "gotoblas" for scipy_gotoblas64_.
  std::map<std::string, std::uint64_t> symbols;
  std::map<std::uint64_t, std::string> core_tables;  // address of gotoblas_HASWELL -> "HASWELL"
  std::vector<ElfSegment> segments;
};

// Absent for a file that has nothing to do with BLAS or oneDNN. Of a program also the symbols that
// only debuggers read, and what its constants name, are looked at: it may be linked statically.
std::optional<MappedFile> inspect_mapped_file(const std::string& path, bool is_program);

// "gotoblas" of "scipy_gotoblas64_"; "sgemm_" of "sgemm_64_" and "scipy_sgemm_64_".
std::string plain_symbol(std::string_view name);

}  // namespace hwprof::blas
