#include "src/measure/exact_functions.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "src/base/text.h"
#include "src/observe/elf/elf_file.h"
#include "src/observe/elf/symbols.h"

namespace hwprof {
namespace {

constexpr std::array<std::string_view, exact::kPrecisions> kPrecisionNames = {"half", "single",
                                                                              "double", "extended"};
constexpr std::array<std::string_view, exact::kWidths> kWidthNames = {"scalar", "128", "256",
                                                                      "512"};
constexpr std::array<std::string_view, exact::kOperations> kOperationNames = {
    "none", "add",     "multiply", "fma",         "divide", "square-root",
    "dot",  "compare", "min-max",  "approximate", "round"};

model::FlopsByWidth flops_by_width(const exact::Counts& counts) {
  model::FlopsByWidth flops;
  for (std::size_t i = 0; i < kWidthNames.size(); ++i) {
    if (const auto n = counts.flops_at(static_cast<exact::Width>(i)); n > 0)
      flops[std::string(kWidthNames[i])] = n;
  }
  return flops;
}

model::ExactOperations operations_of(const exact::Counts& counts) {
  model::ExactOperations operations;
  for (std::size_t i = 1; i < kOperationNames.size(); ++i) {
    if (const auto n = counts.lanes_of(static_cast<exact::Operation>(i)); n > 0)
      operations[std::string(kOperationNames[i])] = n;
  }
  return operations;
}

}  // namespace

model::ExactCount exact_count(const exact::Counts& counts) {
  model::ExactCount made{.instructions = counts.instructions,
                         .flops = counts.total_flops(),
                         .flops_by_precision = {},
                         .flops_by_width = flops_by_width(counts),
                         .operations = operations_of(counts),
                         .bytes_loaded = counts.bytes_loaded,
                         .bytes_stored = counts.bytes_stored,
                         .masked_lanes_off = counts.masked_lanes_off,
                         .system_calls = counts.system_calls,
                         .by_function = {}};
  for (std::size_t i = 0; i < kPrecisionNames.size(); ++i) {
    if (const auto n = counts.flops_of(static_cast<exact::Precision>(i)); n > 0)
      made.flops_by_precision[std::string(kPrecisionNames[i])] = n;
  }
  return made;
}

std::vector<model::ExactFunction> exact_functions(std::span<const PlacedBlock> blocks,
                                                  const SymbolOf& symbol_of) {
  std::map<std::pair<std::string, std::string>, exact::Counts> sums;  // by file and name
  for (const PlacedBlock& block : blocks)
    sums[{block.file, symbol_of(block.file, block.at)}] += block.counts;
  std::vector<model::ExactFunction> functions;
  for (const auto& [place, counts] : sums) {
    if (counts.instructions == 0) continue;
    functions.push_back({.name = place.second,
                         .library = place.first,
                         .instructions = counts.instructions,
                         .flops = counts.total_flops(),
                         .flops_by_width = flops_by_width(counts),
                         .operations = operations_of(counts),
                         .bytes_loaded = counts.bytes_loaded,
                         .bytes_stored = counts.bytes_stored});
  }
  std::stable_sort(functions.begin(), functions.end(), [](const auto& a, const auto& b) {
    return std::tie(a.flops, a.instructions) > std::tie(b.flops, b.instructions);
  });
  return functions;
}

SymbolOf symbols_of_files() {
  auto files = std::make_shared<std::map<std::string, std::optional<observe::ElfCode>>>();
  return [files](const std::string& file, std::uint64_t at) -> std::string {
    if (file.empty() || file.front() != '/') return "";
    const auto [known, is_new] = files->try_emplace(file);
    if (is_new) {
      if (auto code = observe::ElfCode::open(observe::open_regular_file(file), file); code)
        known->second = *std::move(code);
    }
    return known->second ? known->second->symbol(at) : "";
  };
}

model::ExactCount own_count(const exact::Counted& counted, const SymbolOf& symbol_of) {
  model::ExactCount count = exact_count(counted.counts);
  const auto maps = read_text_file("/proc/self/maps");
  if (!maps) return count;  // the names are absent then, the numbers are not
  count.by_function = exact_functions(place_blocks(counted.blocks, *maps), symbol_of);
  return count;
}

}  // namespace hwprof
