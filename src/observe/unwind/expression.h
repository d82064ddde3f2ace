// DWARF expressions as unwind information has them: GCC's for a stack that it has aligned anew, the
// linker's for a PLT, the C library's for the frame of a signal. Pure. Without branches, so that
// one ends however it was made.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <span>

#include "src/observe/unwind/registers.h"
#include "src/observe/unwind/unwound.h"

namespace hwprof::observe {

// Absent where it needs what is not known, or an operation that no unwind information has.
// `cfa`: of the frame, for rules of registers.
std::optional<std::uint64_t> evaluate(std::span<const Dwarf_Op> code, const Registers& registers,
                                      std::optional<std::uint64_t> cfa, StackMemory& memory);

}  // namespace hwprof::observe
