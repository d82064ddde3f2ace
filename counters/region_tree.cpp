#include "counters/region_tree.h"

#include <new>

namespace hwprof {
namespace {

// A program that makes up names (one an iteration) must not fill the memory. 20 MB a thread.
constexpr std::size_t kMostPaths = 65536;

}  // namespace

RegionNode::RegionNode(const char* region, RegionNode* above, std::size_t event_count)
    : name(region), parent(above), events(std::make_unique<Event[]>(event_count)) {}

RegionTree::RegionTree(std::size_t event_count, bool user_space)
    : event_count_(event_count), user_space_(user_space), root_("", nullptr, event_count) {}

RegionNode* RegionTree::find_or_make(RegionNode* parent, const char* name) try {
  if (parent != &root_ && parent->name.is(name)) return parent->hint = parent;
  const auto found = index_.find({parent, name});
  if (found != index_.end()) return parent->hint = found->second;
  if (nodes_.size() >= kMostPaths) return nullptr;

  nodes_.push_back(std::make_unique<RegionNode>(name, parent, event_count_));
  RegionNode* node = nodes_.back().get();
  index_.emplace(Key{parent, node->name.text()}, node);
  std::atomic<RegionNode*>& link =
      parent->last_child == nullptr ? parent->first_child : parent->last_child->next_sibling;
  link.store(node, std::memory_order_release);
  parent->last_child = node;
  return parent->hint = node;
} catch (const std::bad_alloc&) {
  return nullptr;
}

}  // namespace hwprof
