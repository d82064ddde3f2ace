// Where the code stands that src/exact has counted, for whoever names it: hwprof itself, and the
// library that counts in other programs. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/exact/exact.h"

namespace hwprof {

// What ran of one block of code, by where it stands.
struct PlacedBlock {
  std::string file;      // path; "[vdso]"; "/a (deleted)"; "" code that stands in no file
  std::uint64_t at = 0;  // file offset; in code without a file the address
  exact::Counts counts;
};

// By the text of /proc/PID/maps of the process that ran it.
std::vector<PlacedBlock> place_blocks(std::span<const exact::CountedBlock> blocks,
                                      std::string_view maps);

}  // namespace hwprof
