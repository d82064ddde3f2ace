// All that is known of each maker of a BLAS, and of who takes work away from one: a row each of the
// table in providers.cpp. A provider is added there and nowhere else; only what must call a library
// or decode its memory to learn its core needs code (chosen_core.cpp). Pure tables.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/blas.h"

namespace hwprof {
class BlasLibrary;
}

namespace hwprof::blas {

using report::Provider;
using report::VectorClass;
struct Identity;
struct ProcessImage;

// The name under which a library can be told to use a core type, the instructions that it needs,
// the vectors it computes on.
struct CoreType {
  const char* name;    // as the library prints it; for OpenBLAS also what OPENBLAS_CORETYPE takes
  const char* symbol;  // OpenBLAS: the table that a build with this core exports; BLIS: nullptr
  // What the CPU must have, as Machine::isa names it; nullptr ends it. Only what its own sgemm and
  // its siblings (bfloat16 products) execute, not all that the CPU of that name has.
  std::array<const char*, 3> needs;
  VectorClass vector_class;
};

using Names = std::array<std::string_view, 8>;  // empty ones at its end

struct ProviderFacts {
  std::string_view name;     // in reports
  std::string_view label;    // of its kernels, in sentences
  bool is_blas = true;       // else it takes work away from one
  bool wraps = false;        // hands its work on: its symbols are looked for before all others
  const char* better = "";   // what to do where it lacks kernels; "": install the advised BLAS
  const char* package = "";  // that has it, where it is the advised BLAS
  std::span<const CoreType> cores = {};  // most promising first, so that a budget cuts off the rest
  VectorClass vector_class = VectorClass::kNone;  // of one without core types

  // Whose a file with an sgemm_ is: it has or takes a dynamic symbol that begins so (Debian's
  // libblas.so.3 of OpenBLAS has only the undefined gotoblas, that of ATLAS only undefined ATL_*);
  // else its constants hold the name of a variable that it reads (Debian's BLIS libblas.so.3 hides
  // every bli_*).
  Names symbols = {};
  std::string_view constant = "";
  // A file without sgemm_ that defines one of these matters too: a part of a library that was cut
  // into several, or one that takes work away.
  Names parts = {};
  // What a program without symbols still holds, in halves: a program that holds this table, such
  // as hwprof, must not be taken for one. Either a message, or two variables that it alone reads.
  std::array<std::string_view, 2> message = {};
  std::array<std::string_view, 2> variables_of_its_own = {};
  Names files = {};          // names under which it is installed begin so
  Names kernel_files = {};   // the same of files with kernels only
  Names kernels = {};        // names of functions that compute begin so
  Names typed_kernels = {};  // the same behind a letter for the type: sgemm_kernel_HASWELL

  Names variables = {};            // names of what it reads from the environment begin so
  const char* core_variable = "";  // forces a core type
  bool in_one_file = false;        // it reads the environment in the file that has its kernels

  // Functions that say of a loaded library what it is, through BlasLibrary::symbol().
  const char* version_symbol = "";  // text
  std::string_view before_version = "";
  const char* core_symbol = "";     // text
  const char* threads_symbol = "";  // integer
  const char* kernels_symbol = "";  // lies in the file that has the kernels
  void (*ask)(const BlasLibrary& library, Identity& identity) = nullptr;  // what is left
  // Where a process keeps the choice. `chooser` points at a table whose name begins with
  // `core_tables`; a file that only takes it from another hands its work on.
  std::string_view chooser = "", core_tables = "";
  Names kept = {};  // further symbols that `read` needs
  void (*read)(const ProcessImage& image, report::ChosenCore& chosen) = nullptr;
  const char* no_core = "not known how this library keeps its choice";
  int threads = 0;  // that it always has; 0: any number
};

std::span<const ProviderFacts> all_providers();  // by Provider
const ProviderFacts& facts(Provider provider);

bool starts_with_any(std::string_view text, std::span<const std::string_view> prefixes);
// The first row that `matches`; kNone where none does. Those that wrap others come first.
Provider find_provider(const std::function<bool(const ProviderFacts&)>& matches);
// By the name of a kernel ("sgemm_kernel_HASWELL": OpenBLAS); kNone where it gives nothing away.
Provider provider_of_symbol(std::string_view symbol);

// True for OPENBLAS_*, BLIS_*, MKL_*, OMP_*, ...: names that a BLAS reads.
bool shapes_blas(std::string_view variable);
// Whether such a library reads it, by its name. What a wrapper hands its work to reads variables of
// its own, and so may a library that no row knows.
bool reads(Provider provider, std::string_view variable);
// Of threads: OPENBLAS_NUM_THREADS, OMP_THREAD_LIMIT.
bool counts_threads(std::string_view variable);
// True for a variable that forces a core type of some provider.
bool forces_core(std::string_view variable);
// By names under which a BLAS is installed: "libblas.so.3", "libopenblas64.so.0".
bool is_blas_file_name(std::string_view name);
bool is_kernel_file_name(std::string_view name);
// Of a file that has a BLAS, its C interface or LAPACK, and nothing that calls it by itself.
bool is_library_of_blas(std::string_view path);
// "sudo apt install libopenblas0-pthread"; to root without sudo, which a container may not have.
std::string install_advice(bool root);
std::string install_advice();  // to who runs hwprof

// By name, whatever the case; nullptr when the table has none.
const CoreType* find_core_type(Provider provider, std::string_view name);
bool can_run(const CoreType& core, const std::vector<std::string>& isa);
// Of what a library runs; kNone when that is not known.
VectorClass vector_class_of(Provider provider, std::string_view core);
// The widest class that this CPU has.
VectorClass widest_vector_class(const std::vector<std::string>& isa);
inline int rank(VectorClass vectors) { return report::facts(vectors).rank; }

}  // namespace hwprof::blas
