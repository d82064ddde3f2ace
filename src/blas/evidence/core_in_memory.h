// E2 of a live process: what its library has chosen, read from its memory without running anything
// in it. OpenBLAS points `gotoblas` at the table of one core type; BLIS keeps a number that
// bli_arch_query_id loads; MKL maps the library of one instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "src/blas/evidence/mapped_file.h"
#include "src/model/run_record.h"

namespace hwprof::blas {

// Copies `bytes` at `address` of the process to `to`; false when it may not or nothing is there.
using ReadMemory = std::function<bool(std::uint64_t address, void* to, std::size_t bytes)>;

struct CoreInMemory {
  report::SelectedCore selected;
  bool settled = true;  // false: the library is not initialised yet, look again
};

// `bias` is what the loader added to the addresses of the file; `whose` names the process.
CoreInMemory core_in_memory(const MappedFile& file, const std::string& path, std::uint64_t bias,
                            const ReadMemory& read, const std::string& whose);

// Instruction set of a part of MKL, by its file name: "avx2" of "libmkl_avx2.so.1"; "" of others.
std::string mkl_kernels(const std::string& path);

}  // namespace hwprof::blas
