// Stacks merged from their outermost frame on: what a flame graph draws. Internal to flame*.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "src/report/flame/stacks.h"

namespace hwprof::report {

struct FlameNode {
  std::uint64_t samples = 0;                 // with all that it called
  std::map<std::string, FlameNode> callees;  // by name
};

FlameNode flame_tree(std::span<const FoldedStack> stacks);
// Frames on top of each other, the root not counted.
std::size_t depth_of(const FlameNode& node);

// For text and attributes of XML and HTML: invisible characters shown as their escapes, the five
// that mean something there as entities.
std::string xml_text(const std::string& name);

}  // namespace hwprof::report
