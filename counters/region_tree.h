// The call paths of one thread. Its owner writes without a lock and without waiting; anybody may
// read at the same time: every number is atomic, children are only ever added, and a sequence
// number (as the kernel's seqlock) tells the reader when a region was left meanwhile. Internal to
// counters/.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hwprof {

using RegionNumber = std::atomic<std::uint64_t>;

// What is summed up over the entries of one call path.
struct RegionNode {
  RegionNode(std::string_view region, RegionNode* above, std::size_t event_count);

  const std::string name;
  RegionNode* const parent;
  std::atomic<RegionNode*> first_child = nullptr, next_sibling = nullptr;

  RegionNumber calls = 0;       // finished
  RegionNumber nested = 0;      // of these, inside another call of the same path
  RegionNumber open = 0;        // entered and not left yet
  RegionNumber unfinished = 0;  // ended by the end of the thread
  RegionNumber total_ns = 0, self_ns = 0;
  RegionNumber counted_calls = 0;               // those with events
  RegionNumber enabled_ns = 0, running_ns = 0;  // of the counters, in counted calls
  std::atomic<double> flops = 0, bytes = 0;     // declared, without nested regions
  struct Event {
    RegionNumber total = 0, self = 0;
  };
  const std::unique_ptr<Event[]> events;

  // Owner only.
  RegionNode* last_child = nullptr;  // end of the list of children
  RegionNode* hint = nullptr;        // child that was entered last
};

class RegionTree {
 public:
  explicit RegionTree(std::size_t event_count);

  RegionNode* root() { return &root_; }
  [[nodiscard]] const RegionNode* root() const { return &root_; }
  [[nodiscard]] std::size_t event_count() const { return event_count_; }
  [[nodiscard]] std::size_t paths() const { return nodes_.size(); }

  // The child of `parent` with this name, made if need be; `parent` itself for its own name: a
  // function that calls itself makes no path at each depth. nullptr: there are too many paths,
  // or no memory is left.
  RegionNode* child(RegionNode* parent, const char* name) {
    RegionNode* hint = parent->hint;
    if (hint != nullptr) {
      if (hint->name == name) return hint;
      // Regions mostly come in the order in which they came first.
      hint = hint->next_sibling.load(std::memory_order_relaxed);
      if (hint != nullptr && hint->parent == parent && hint->name == name)
        return parent->hint = hint;
    }
    return find_or_make(parent, name);
  }

  // Around a change of several numbers.
  void begin_change() {
    sequence_.store(sequence_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
  }
  void end_change() {
    sequence_.store(sequence_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  // Calls `copy` until no change happened meanwhile.
  template <class Copy>
  void read_consistently(Copy copy) const {
    while (true) {
      const std::uint64_t before = sequence_.load(std::memory_order_acquire);
      copy();
      std::atomic_thread_fence(std::memory_order_acquire);
      if (before % 2 == 0 && sequence_.load(std::memory_order_relaxed) == before) return;
    }
  }

 private:
  RegionNode* find_or_make(RegionNode* parent, const char* name);

  struct Key {
    const RegionNode* parent;
    std::string_view name;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::string_view>()(key.name) ^
             (std::hash<const void*>()(key.parent) * 0x9e3779b97f4a7c15U);
    }
  };

  std::size_t event_count_;
  RegionNode root_;
  RegionNumber sequence_ = 0;
  std::vector<std::unique_ptr<RegionNode>> nodes_;
  std::unordered_map<Key, RegionNode*, KeyHash> index_;
};

// For numbers that only one thread writes: no locked instruction.
inline void add(RegionNumber& number, std::uint64_t amount) {
  number.store(number.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}
inline void add(std::atomic<double>& number, double amount) {
  number.store(number.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

}  // namespace hwprof
