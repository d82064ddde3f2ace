// The call paths of one thread. Its owner writes without a lock and without waiting; anybody may
// read at the same time: every number is atomic, children are only ever added, and a sequence
// number (as the kernel's seqlock) tells the reader when a region was left meanwhile.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "counters/regions/region_clock.h"
#include "src/base/sanitized.h"

namespace hwprof {

// A number that one thread writes and any may read. As std::atomic, but that its owner adds with
// no more than a load, an addition and a store. GCC 12 takes an instruction more for each access
// to an atomic on arm64, a tenth of an edge in all.
class RegionNumber {
 public:
  RegionNumber(std::uint64_t value = 0) : value_(value) {}  // NOLINT: as an atomic, = 0
  RegionNumber(const RegionNumber&) = delete;
  RegionNumber& operator=(const RegionNumber&) = delete;
  std::uint64_t operator=(std::uint64_t value) {  // NOLINT: as an atomic
    __atomic_store_n(&value_, value, __ATOMIC_RELAXED);
    return value;
  }

  [[nodiscard]] std::uint64_t load() const { return __atomic_load_n(&value_, __ATOMIC_RELAXED); }
  operator std::uint64_t() const { return load(); }  // NOLINT: as an atomic

  // By its owner. A volatile access to an aligned word is one access, as the kernel has its
  // WRITE_ONCE; no other thread writes in between.
  void add(std::uint64_t amount) {
#if HWPROF_SANITIZED
    *this = load() + amount;
#else
    volatile std::uint64_t& value = value_;
    value = value + amount;
#endif
  }

 private:
  alignas(8) std::uint64_t value_;
};

// The name of a region, compared with that of each entry. By its text, not by its address: a
// program may write another name to the same place. strlen and memcmp took a third of an edge, so
// the text is kept as the caller's stands in memory: in whole words from an aligned address on.
class RegionName {
 public:
  explicit RegionName(const char* name);
  RegionName(const RegionName&) = delete;
  RegionName& operator=(const RegionName&) = delete;

  // Whether is_like() may be asked.
  [[nodiscard]] bool stands_like(const char* name) const {
    return !HWPROF_SANITIZED && misalignment_of(name) == misalignment_;
  }
  // Eight instructions for each word of eight characters.
  [[nodiscard]] bool is_like(const char* name) const {
    // Never past the word in which the text ends, so never into a page that it does not touch. The
    // address goes through an empty instruction: to the compiler, a read beyond an array is none.
    std::uintptr_t aligned = reinterpret_cast<std::uintptr_t>(name) - misalignment_;
    asm("" : "+r"(aligned));
    const Word* word = reinterpret_cast<const Word*>(aligned);
    const Part* part = first_;
    const Part* const end = end_;
    while ((*word & part->mask) == part->text) {
      if (++part == end) return true;
      ++word;
    }
    return false;
  }
  [[nodiscard]] bool is(const char* name) const {
    return stands_like(name) ? is_like(name) : text_ == name;
  }
  // From now on names are compared fastest with one that stands as this one does. Of the same text.
  void stand_like(const char* name);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  using Word [[gnu::may_alias]] = std::uint64_t;
  struct Part {
    std::uint64_t text = 0, mask = 0;  // 0 where neither the text nor its end is
  };

  // From the last aligned address at or before it.
  static std::uintptr_t misalignment_of(const char* name) {
    return reinterpret_cast<std::uintptr_t>(name) % sizeof(Word);
  }

  const Part *first_ = nullptr, *end_ = nullptr;  // of parts_, which has room for any place
  std::uintptr_t misalignment_ = 0;
  std::vector<Part> parts_;
  const std::string text_;
};

// What is summed up over the entries of one call path.
struct RegionNode {
  RegionNode(const char* region, RegionNode* above, std::size_t event_count);

  RegionName name;
  RegionNode* const parent;
  std::atomic<RegionNode*> first_child = nullptr, next_sibling = nullptr;
  // Entries that were described are summed up in nodes of their own, which hang on the one of the
  // same name; nobody finds them by name.
  RegionNode* plain = nullptr;  // that one; nullptr: this is it
  std::atomic<RegionNode*> first_described = nullptr, next_described = nullptr;
  std::string type, shape;

  RegionNumber entered = 0;
  RegionNumber calls = 0;       // finished
  RegionNumber nested = 0;      // of these, inside another call of the same path
  RegionNumber unfinished = 0;  // ended by the end of the thread
  // Of the calls that were timed by the one clock and by the other. `other`: of the total, see
  // other_calls.
  struct Times {
    RegionNumber total = 0, self = 0, other = 0;
  };
  Times ns, ticks;
  Times& times(RegionClock clock) { return clock == RegionClock::kCounter ? ticks : ns; }
  // Calls whose events were read by read(), and the times of the counters in them. Calls read in
  // user space are the others: an edge has no time to count what is so nearly always.
  RegionNumber counted_calls = 0, enabled_ns = 0, running_ns = 0;
  // Where the thread reads in user space: calls that were not.
  RegionNumber other_calls = 0;
  std::atomic<double> flops = 0, bytes = 0;  // declared, without nested regions
  // Bytes, where the thread's memory is watched. The peak is the highest of its calls.
  RegionNumber allocated_total = 0, allocated_self = 0, memory_peak = 0;
  struct Event {
    RegionNumber total = 0, self = 0;
  };
  const std::unique_ptr<Event[]> events;

  // Owner only.
  RegionNode* last_child = nullptr;  // end of the list of children
  RegionNode* last_described = nullptr;
  RegionNode* hint = nullptr;  // child that was entered last
};

class RegionTree {
 public:
  explicit RegionTree(std::size_t event_count, bool user_space = false);
  RegionTree(const RegionTree&) = delete;
  RegionTree& operator=(const RegionTree&) = delete;
  ~RegionTree() { paths_of_all -= nodes_.size(); }
  // In a child of fork: the trees of the parent stay where they are, and take none of its room.
  static void forget_others() { paths_of_all = 0; }

  RegionNode* root() { return &root_; }
  [[nodiscard]] const RegionNode* root() const { return &root_; }
  [[nodiscard]] std::size_t event_count() const { return event_count_; }
  // Calls are counted in user space, but for the node's other_calls.
  [[nodiscard]] bool user_space() const { return user_space_; }
  [[nodiscard]] std::size_t paths() const { return nodes_.size(); }

  // The child of `parent` with this name, made if need be; `parent` itself for its own name: a
  // function that calls itself makes no path at each depth. nullptr: there are too many paths,
  // or no memory is left.
  RegionNode* child(RegionNode* parent, const char* name) {
    RegionNode* node = expected_child(parent, name);
    if (node != nullptr) return node;
    node = find_or_make(parent, name);
    if (node != nullptr && !node->name.stands_like(name)) node->name.stand_like(name);
    return node;
  }
  // The node of entries of `node` that are described so, made if need be; nullptr: no room.
  RegionNode* described(RegionNode* node, const char* type, const char* shape);
  // The child where it is quickly found, without a call of any function; else nullptr.
  static RegionNode* expected_child(RegionNode* parent, const char* name) {
    RegionNode* hint = parent->hint;
    if (hint == nullptr) return nullptr;
    if (hint->name.stands_like(name) && hint->name.is_like(name)) return hint;
    // Regions mostly come in the order in which they came first.
    hint = hint->next_sibling.load(std::memory_order_relaxed);
    if (hint == nullptr || hint->parent != parent) return nullptr;
    if (!hint->name.stands_like(name) || !hint->name.is_like(name)) return nullptr;
    return parent->hint = hint;
  }

  // Around a change of several numbers. What the first returns goes to the second.
  std::uint64_t begin_change() {
    const std::uint64_t before = sequence_.load(std::memory_order_relaxed);
    sequence_.store(before + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    return before;
  }
  void end_change(std::uint64_t before) { sequence_.store(before + 2, std::memory_order_release); }

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
  [[nodiscard]] bool has_room() const;
  RegionNode* find_or_make(RegionNode* parent, const char* name);
  RegionNode* add(const char* name, RegionNode* parent);

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

  static inline std::atomic<std::size_t> paths_of_all = 0;
  std::size_t event_count_;
  bool user_space_;
  RegionNode root_;
  std::atomic<std::uint64_t> sequence_ = 0;
  std::vector<std::unique_ptr<RegionNode>> nodes_;
  std::unordered_map<Key, RegionNode*, KeyHash> index_;
  std::deque<std::string> descriptions_;  // keys of index_
};

// By the owner alone: no locked instruction.
inline void add(std::atomic<double>& number, double amount) {
  number.store(number.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

}  // namespace hwprof
