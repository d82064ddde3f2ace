#include "src/report/flame/flame_tree.h"

#include <algorithm>

#include "src/report/render/printable.h"

namespace hwprof::report {

FlameNode flame_tree(std::span<const FoldedStack> stacks) {
  FlameNode root;
  for (const FoldedStack& stack : stacks) {
    root.samples += stack.samples;
    FlameNode* node = &root;
    for (const std::string& frame : stack.frames) {
      node = &node->callees[frame];
      node->samples += stack.samples;
    }
  }
  return root;
}

std::size_t depth_of(const FlameNode& node) {
  std::size_t deepest = 0;
  for (const auto& [name, callee] : node.callees) {
    deepest = std::max(deepest, 1 + depth_of(callee));
  }
  return deepest;
}

std::string xml_text(const std::string& name) {
  std::string text;
  for (const char c : printable(name)) {
    switch (c) {
      case '&':
        text += "&amp;";
        break;
      case '<':
        text += "&lt;";
        break;
      case '>':
        text += "&gt;";
        break;
      case '"':
        text += "&quot;";
        break;
      case '\'':
        text += "&#39;";
        break;
      default:
        text += c;
    }
  }
  return text;
}

}  // namespace hwprof::report
