// What a library has chosen, where a row of the table cannot say how to learn it: by calling the
// library that is loaded here, or by reading the memory of a process without running anything in
// it. OpenBLAS points `gotoblas` at the table of one core type; BLIS keeps a number that
// bli_arch_query_id loads; MKL maps the library of one instruction set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/blas_library.h"
#include "src/model/blas.h"

namespace hwprof::blas {

// A library, asked through functions of the file that serves sgemm_ or of what that file stands on
// (BlasLibrary::symbol), never of another that is mapped.
struct Identity : report::Blas {
  std::string kernels;  // file with the kernels: libopenblas below Debian's libblas.so.3
  // Variables of this provider that are set, but whose names its file does not hold.
  std::vector<std::string> ignored;
  [[nodiscard]] bool ignores(const std::string& variable) const {
    return std::find(ignored.begin(), ignored.end(), variable) != ignored.end();
  }
};

// Calls `name` where the library has it. Value must be constructible from nothing.
template <class Value, class... Arguments>
std::optional<Value> ask(const BlasLibrary& library, const char* name, Arguments... arguments) {
  void* address = library.symbol(name);
  if (address == nullptr) return std::nullopt;
  return reinterpret_cast<Value (*)(Arguments...)>(address)(arguments...);
}
std::string ask_text(const BlasLibrary& library, const char* name);

void ask_openblas(const BlasLibrary& library, Identity& identity);
void ask_blis(const BlasLibrary& library, Identity& identity);
void ask_mkl(const BlasLibrary& library, Identity& identity);

// Names of the architectures that a BLIS knows, in the order of BLIS_ARCH_TYPE, "generic" last.
// Empty when the library does not export them (Debian's libblas.so.3 of BLIS).
std::vector<std::string> blis_architectures(const BlasLibrary& library);

// Copies `bytes` at `address` of the process to `to`; false when it may not or nothing is there.
using ReadMemory = std::function<bool(std::uint64_t address, void* to, std::size_t bytes)>;

// Where in a file a library keeps its choice, by names without prefix and suffix of the build:
// "gotoblas" for scipy_gotoblas64_.
struct ChoiceSymbols {
  std::map<std::string, std::uint64_t, std::less<>> symbols;
  std::map<std::uint64_t, std::string> core_tables;  // address of gotoblas_HASWELL -> "HASWELL"
};

// One file in one process. `bias` is what the loader added to the addresses of the file.
struct ProcessImage {
  const ChoiceSymbols& file;
  std::string path;
  std::uint64_t bias = 0;
  ReadMemory read;

  [[nodiscard]] std::optional<std::uint64_t> address_of(std::string_view name) const {
    const auto found = file.symbols.find(name);
    if (found == file.symbols.end()) return std::nullopt;
    return bias + found->second;
  }
};

// Each sets a core and how it is known, or the reason why it is not.
void read_openblas(const ProcessImage& image, report::ChosenCore& chosen);
void read_blis(const ProcessImage& image, report::ChosenCore& chosen);
void read_mkl(const ProcessImage& image, report::ChosenCore& chosen);

}  // namespace hwprof::blas
