#include "src/report/documents/memory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "src/base/format.h"
#include "src/report/documents/content.h"

namespace hwprof::report {
namespace {

std::string bytes_text(std::uint64_t bytes) { return binary_bytes(static_cast<double>(bytes)); }

std::string areas_text(const LargeMemory& memory) {
  std::vector<std::string> parts;
  for (const MemoryArea& area : memory.areas) {
    parts.push_back(fmt::format(
        "{}{} ({} in huge pages)", bytes_text(area.resident_bytes),
        area.name.empty() ? "" : " " + area.name,
        percent(static_cast<double>(area.huge_bytes) / static_cast<double>(area.resident_bytes))));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string setting_text(const LargeMemory& memory) {
  if (memory.huge_pages == "process") return "none in this process";
  return memory.huge_pages.empty() ? "unknown" : memory.huge_pages + " (the kernel's setting)";
}

std::string nodes_text(const LargeMemory& memory) {
  std::vector<std::string> parts;
  for (const MemoryNode& node : memory.nodes) {
    std::string text = fmt::format("node {}: {}", node.node, bytes_text(node.bytes));
    if (node.run_share)
      text += fmt::format(", {} of the running threads", percent(*node.run_share));
    parts.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

Fields memory_fields(const Run& run) {
  Fields fields{.title = "Large areas of memory", .rows = {}};
  if (!run.memory || run.memory->areas.empty()) return fields;
  fields.rows = {
      {"Resident", areas_text(*run.memory)},
      {"Huge pages", setting_text(*run.memory)},
      {"NUMA", run.memory->nodes.empty() ? run.memory->nodes_reason : nodes_text(*run.memory)}};
  return fields;
}

}  // namespace hwprof::report
