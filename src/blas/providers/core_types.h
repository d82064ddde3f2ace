// What the core types of the BLAS libraries are: the name under which a library can be told to use
// one, the instructions it needs, the vectors it computes on. Pure tables.
// Sources: OpenBLAS driver/others/dynamic.c, dynamic_arm64.c and kernel/*/KERNEL.*; BLIS
// frame/include/bli_type_defs.h and config/*.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hwprof::blas {

struct CoreType {
  const char* name;    // as the library prints it; for OpenBLAS also what OPENBLAS_CORETYPE takes
  const char* symbol;  // OpenBLAS: the table that a build with this core exports; BLIS: nullptr
  // What the CPU must have, as Machine::isa names it; nullptr ends it. Only what its own sgemm and
  // its siblings (bfloat16 products) execute, not all that the CPU of that name has.
  std::array<const char*, 3> needs;
  const char* vector_class;  // as report::LadderRung has it
};

// Most promising first, so that a budget cuts off the least useful. Empty for a provider that
// cannot be told.
std::span<const CoreType> core_types(std::string_view provider);
// By name, whatever the case; nullptr when the table has none.
const CoreType* find_core_type(std::string_view provider, std::string_view name);
bool can_run(const CoreType& core, const std::vector<std::string>& isa);

// Vector class of what a library runs, by provider and core; "" when that is not known.
std::string vector_class_of(std::string_view provider, std::string_view core);
// The widest class that this CPU has.
std::string widest_vector_class(const std::vector<std::string>& isa);
// Orders classes: "" is -1, then scalar, sse or neon, avx, avx2, avx512. SVE ranks with Neon, since
// its length is the CPU's secret and 128 bits is the most common one.
int vector_rank(std::string_view vector_class);

}  // namespace hwprof::blas
