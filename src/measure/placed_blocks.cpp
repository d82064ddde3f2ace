#include "src/measure/placed_blocks.h"

#include <algorithm>

#include "src/observe/proc/maps.h"

namespace hwprof {

std::vector<PlacedBlock> place_blocks(std::span<const exact::CountedBlock> blocks,
                                      std::string_view maps) {
  const std::vector<observe::MapsLine> lines = observe::parse_maps(maps);  // ascending
  std::vector<PlacedBlock> placed;
  placed.reserve(blocks.size());
  for (const exact::CountedBlock& block : blocks) {
    const auto behind =
        std::upper_bound(lines.begin(), lines.end(), block.address,
                         [](std::uint64_t at, const auto& line) { return at < line.start; });
    const observe::MapsLine* line = behind == lines.begin() ? nullptr : &*std::prev(behind);
    if (line != nullptr && block.address >= line->end) line = nullptr;
    const bool is_file = line != nullptr && !line->path.empty() && line->path.front() == '/';
    // What lies at the path of a file that was replaced is not what ran.
    const char* mark = line != nullptr && line->deleted ? " (deleted)" : "";
    placed.push_back({.file = line == nullptr ? "" : line->path + mark,
                      .at = is_file ? block.address - line->start + line->offset : block.address,
                      .counts = block.counts});
  }
  return placed;
}

}  // namespace hwprof
