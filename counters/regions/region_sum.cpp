#include "counters/regions/region_sum.h"

#include <algorithm>
#include <utility>

namespace hwprof {
namespace {

void add_all(const std::vector<std::uint64_t>& part, std::vector<std::uint64_t>& sum) {
  sum.resize(part.size());
  for (std::size_t i = 0; i < part.size(); ++i) sum[i] += part[i];
}

void add_numbers(const RegionSum& part, RegionSum& sum) {
  sum.threads += part.threads;
  sum.calls += part.calls;
  sum.nested += part.nested;
  sum.open += part.open;
  sum.unfinished += part.unfinished;
  sum.total_ns += part.total_ns;
  sum.self_ns += part.self_ns;
  sum.counted_calls += part.counted_calls;
  sum.enabled_ns += part.enabled_ns;
  sum.running_ns += part.running_ns;
  sum.flops += part.flops;
  sum.bytes += part.bytes;
  sum.allocated_total += part.allocated_total;
  sum.allocated_self += part.allocated_self;
  sum.memory_peak = std::max(sum.memory_peak, part.memory_peak);
  add_all(part.totals, sum.totals);
  add_all(part.selves, sum.selves);
}

// Node by node: a thread that never rests between two edges would never let a whole tree be copied.
RegionSum copy_of(const RegionTree& tree, const RegionNode& node) {
  RegionSum copy;
  copy.threads = 1;
  copy.totals.resize(tree.event_count());
  copy.selves.resize(tree.event_count());
  constexpr auto kRelaxed = std::memory_order_relaxed;
  tree.read_consistently([&] {
    copy.calls = node.calls.load();
    copy.nested = node.nested.load();
    copy.open = node.entered.load() - copy.calls;
    copy.unfinished = node.unfinished.load();
    copy.total_ns = node.total_ns.load();
    copy.self_ns = node.self_ns.load();
    copy.counted_calls = node.counted_calls.load();
    copy.enabled_ns = node.enabled_ns.load();
    copy.running_ns = node.running_ns.load();
    if (tree.user_space()) {
      const std::uint64_t user_ns = copy.total_ns - node.other_ns.load();
      copy.counted_calls += copy.calls - node.other_calls.load();
      copy.enabled_ns += user_ns;
      copy.running_ns += user_ns;
    }
    copy.allocated_total = node.allocated_total.load();
    copy.allocated_self = node.allocated_self.load();
    copy.memory_peak = node.memory_peak.load();
    copy.flops = node.flops.load(kRelaxed);
    copy.bytes = node.bytes.load(kRelaxed);
    for (std::size_t i = 0; i < tree.event_count(); ++i) {
      copy.totals[i] = node.events[i].total.load();
      copy.selves[i] = node.events[i].self.load();
    }
  });
  return copy;
}

}  // namespace

std::size_t RegionSums::child(Key key) {
  if (nodes_.size() >= kMost && !index_.contains(key)) return kNoRoom;
  const auto [place, is_new] = index_.try_emplace(std::move(key), nodes_.size());
  if (is_new) {
    const Key& of = place->first;
    RegionSum& made = nodes_.emplace_back();
    made.name = of.name;
    made.type = of.type;
    made.shape = of.shape;
    made.parent = of.parent;
    nodes_[of.parent].children.push_back(place->second);
  }
  return place->second;
}

std::uint64_t RegionSums::merge(const RegionTree& tree) {
  std::uint64_t left_out = 0;
  std::vector<std::pair<const RegionNode*, std::size_t>> pending{{tree.root(), 0}};
  while (!pending.empty()) {
    const auto [from, to] = pending.back();
    pending.pop_back();
    const auto add = [&, to = to](const RegionNode* node) {
      const std::size_t target = child({to, node->name.text(), node->type, node->shape});
      if (target == kNoRoom) {  // with all below it
        left_out += node->entered.load();
        return;
      }
      add_numbers(copy_of(tree, *node), nodes_[target]);
      pending.emplace_back(node, target);
    };
    constexpr auto kAcquire = std::memory_order_acquire;
    const RegionNode* node = from->first_child.load(kAcquire);
    for (; node != nullptr; node = node->next_sibling.load(kAcquire)) {
      const RegionNode* described = node->first_described.load(kAcquire);
      // Nothing is left in one whose entries were all described.
      if (described == nullptr || node->entered.load() != 0 || node->first_child != nullptr)
        add(node);
      for (; described != nullptr; described = described->next_described.load(kAcquire))
        add(described);
    }
  }
  return left_out;
}

}  // namespace hwprof
