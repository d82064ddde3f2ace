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
  sum.ticks.total += part.ticks.total;
  sum.ticks.self += part.ticks.self;
  sum.ticks.counted += part.ticks.counted;
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
    copy.total_ns = node.ns.total.load();
    copy.self_ns = node.ns.self.load();
    copy.ticks.total = node.ticks.total.load();
    copy.ticks.self = node.ticks.self.load();
    copy.counted_calls = node.counted_calls.load();
    copy.enabled_ns = node.enabled_ns.load();
    copy.running_ns = node.running_ns.load();
    if (tree.user_space()) {
      const std::uint64_t user_ns = copy.total_ns - node.ns.other.load();
      copy.ticks.counted = copy.ticks.total - node.ticks.other.load();
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

// A self and the totals directly below it add up to the total, unless calls are open, whose total
// is not there yet. Rounded one by one they would not: so the selves are rounded, and the totals
// made of them. From the leaves up: parents stand before their children.
void RegionSums::convert_ticks(const TickLine& line) {
  struct Below {
    std::uint64_t ticks = 0, ns = 0;
  };
  std::vector<Below> below(nodes_.size());
  for (std::size_t i = nodes_.size() - 1; i > 0; --i) {
    RegionSum& node = nodes_[i];
    // Less than nothing, where the CPUs' counters differ and the thread moved between them.
    const auto signed_self = static_cast<std::int64_t>(node.ticks.self);
    const std::uint64_t self_ns = signed_self < 0 ? 0 : line.as_ns(node.ticks.self);
    const auto missing =
        static_cast<std::int64_t>(node.ticks.self + below[i].ticks - node.ticks.total);
    const std::uint64_t missing_ns =
        missing > 0 ? line.as_ns(static_cast<std::uint64_t>(missing)) : 0;
    const std::uint64_t parts_ns = self_ns + below[i].ns;
    const std::uint64_t total_ns = parts_ns - std::min(parts_ns, missing_ns);
    node.self_ns += self_ns;
    node.total_ns += total_ns;
    const std::uint64_t counted_ns = line.as_ns(node.ticks.counted);
    node.enabled_ns += counted_ns;
    node.running_ns += counted_ns;
    below[node.parent].ticks += node.ticks.total;
    below[node.parent].ns += total_ns;
    node.ticks = {};
  }
}

}  // namespace hwprof
