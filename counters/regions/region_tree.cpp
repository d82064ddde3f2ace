#include "counters/regions/region_tree.h"

#include <fmt/format.h>

#include <cstring>
#include <new>

namespace hwprof {
namespace {

// A program that makes up names (one an iteration) must not fill the memory: 20 MB a thread, 40 MB
// all threads that live.
constexpr std::size_t kMostPaths = 65536, kMostPathsOfAll = 131072;

// Never a name: those end at their first 0.
std::string description_key(std::string_view type, std::string_view shape) {
  return fmt::format("{}{}{}{}", '\0', type, '\0', shape);
}

}  // namespace

RegionName::RegionName(const char* name) : text_(name) {
  parts_.resize(text_.size() / sizeof(Word) + 2);
  stand_like(name);
}

void RegionName::stand_like(const char* name) {
  misalignment_ = misalignment_of(name);
  const std::size_t bytes = text_.size() + 1;  // the end belongs to it
  const std::size_t words = (misalignment_ + bytes + sizeof(Word) - 1) / sizeof(Word);
  for (std::size_t i = 0; i < words; ++i) {
    unsigned char text[sizeof(Word)] = {}, mask[sizeof(Word)] = {};
    for (std::size_t at = 0; at < sizeof(Word); ++at) {
      const std::size_t character = i * sizeof(Word) + at - misalignment_;
      if (character >= bytes) continue;  // before the text, too: that wraps around
      text[at] = static_cast<unsigned char>(text_.c_str()[character]);
      mask[at] = 0xff;
    }
    std::memcpy(&parts_[i].text, text, sizeof(Word));
    std::memcpy(&parts_[i].mask, mask, sizeof(Word));
  }
  first_ = parts_.data();
  end_ = first_ + words;
}

RegionNode::RegionNode(const char* region, RegionNode* above, std::size_t event_count)
    : name(region), parent(above), events(std::make_unique<Event[]>(event_count)) {}

RegionTree::RegionTree(std::size_t event_count, bool user_space)
    : event_count_(event_count), user_space_(user_space), root_("", nullptr, event_count) {}

RegionNode* RegionTree::find_or_make(RegionNode* parent, const char* name) try {
  if (parent != &root_ && parent->name.is(name)) return parent->hint = parent;
  const auto found = index_.find({parent, name});
  if (found != index_.end()) return parent->hint = found->second;
  if (!has_room()) return nullptr;

  RegionNode* node = add(name, parent);
  index_.emplace(Key{parent, node->name.text()}, node);
  std::atomic<RegionNode*>& link =
      parent->last_child == nullptr ? parent->first_child : parent->last_child->next_sibling;
  link.store(node, std::memory_order_release);
  parent->last_child = node;
  return parent->hint = node;
} catch (const std::bad_alloc&) {
  return nullptr;
}

bool RegionTree::has_room() const {
  return nodes_.size() < kMostPaths && paths_of_all < kMostPathsOfAll;
}

RegionNode* RegionTree::add(const char* name, RegionNode* parent) {
  nodes_.push_back(std::make_unique<RegionNode>(name, parent, event_count_));
  ++paths_of_all;
  return nodes_.back().get();
}

RegionNode* RegionTree::described(RegionNode* node, const char* type, const char* shape) try {
  RegionNode* plain = node->plain == nullptr ? node : node->plain;
  std::string key = description_key(type, shape);
  const auto found = index_.find({plain, key});
  if (found != index_.end()) return found->second;
  if (!has_room()) return nullptr;

  RegionNode* made = add(plain->name.text().c_str(), plain->parent);
  made->plain = plain;
  made->type = type;
  made->shape = shape;
  index_.emplace(Key{plain, descriptions_.emplace_back(std::move(key))}, made);
  std::atomic<RegionNode*>& link = plain->last_described == nullptr
                                       ? plain->first_described
                                       : plain->last_described->next_described;
  link.store(made, std::memory_order_release);
  return plain->last_described = made;
} catch (const std::bad_alloc&) {
  return nullptr;
}

}  // namespace hwprof
