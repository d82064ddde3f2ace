// From an instruction of a code object to its line: co_linetable of CPython 3.11 on
// (Objects/locations.md). Pure, of bytes that a program can have made anything of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace hwprof::observe {

// `unit` counts the code units of two bytes. Absent: beyond the table, or an instruction that is of
// no line.
std::optional<std::int32_t> line_at(std::int32_t first_line, std::span<const std::byte> table,
                                    std::size_t unit);

}  // namespace hwprof::observe
