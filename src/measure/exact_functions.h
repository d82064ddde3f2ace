// Sums what src/exact counted into the record that reports print: in words instead of indices, and
// by function. Pure but for own_count(), which reads this process' mappings and files.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "src/exact/exact.h"
#include "src/measure/placed_blocks.h"
#include "src/model/exact_record.h"

namespace hwprof {

// Totals alone.
model::ExactCount exact_count(const exact::Counts& counts);

// "": no symbol covers it.
using SymbolOf = std::function<std::string(const std::string& file, std::uint64_t at)>;

// Blocks of one function of one file added up: most FLOP first, then most instructions, then by
// name. Code without a name is one function a file.
std::vector<model::ExactFunction> exact_functions(std::span<const PlacedBlock> blocks,
                                                  const SymbolOf& symbol_of);

// Names by the files themselves, each opened once and as long as this lives; to be called where
// reading them is allowed.
SymbolOf symbols_of_files();

// Of a region of this process.
model::ExactCount own_count(const exact::Counted& counted, const SymbolOf& symbol_of);

}  // namespace hwprof
