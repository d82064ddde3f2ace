// The regions of one thread: the stack of those that it is in, its tree of call paths, its
// counters. What happens at each edge is here, in the order that keeps the cost out of the region:
// counters, clock | the region | clock, counters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "counters/regions/hwprof.h"
#include "counters/regions/region_edge.h"
#include "counters/regions/region_trace.h"
#include "counters/regions/region_tree.h"

namespace hwprof {

// Ways of leaving that a report has to mention. Written by the thread itself.
struct RegionMishaps {
  RegionNumber left_by_outer = 0;  // closed because the region around it was left
  RegionNumber dropped = 0;        // entries not recorded: too many call paths
  RegionNumber undescribed = 0;    // descriptions that came too late
};

class RegionThread {
 public:
  using Ticket = std::uint64_t;  // number of the thread, then that of the entry
  static constexpr Ticket kNoTicket = 0;
  static constexpr unsigned kEntryBits = 40;

  // `memory` and `trace`: where the thread's allocations are counted, and its calls kept; nullptr:
  // they are not. With either, edges take the long way.
  RegionThread(std::uint64_t number, std::size_t event_count, ThreadCounters* counters,
               hwprof_memory* memory = nullptr, RegionTrace* trace = nullptr);
  RegionThread(const RegionThread&) = delete;
  RegionThread& operator=(const RegionThread&) = delete;

  // kNoTicket: no memory. `name` may be nullptr.
  [[gnu::always_inline]] Ticket enter(const char* name) noexcept {
    // Nothing but calls in the last place, here and in leave_fast(): registers need not be saved.
    if (fast_ == nullptr || top_ == last_ || name == nullptr) [[unlikely]]
      return enter_slowly(name);
    RegionNode* above = top_->node;
    RegionNode* node = above == nullptr ? nullptr : RegionTree::expected_child(above, name);
    if (node == nullptr) [[unlikely]]
      return enter_slowly(name);
    return begin_fast(open_frame(node));
  }
  Ticket enter_slowly(const char* name) noexcept;

  // The short way to leave; false: nothing is done, leave() has to do it.
  [[gnu::always_inline]] bool leave_fast(Ticket ticket) noexcept {
    ThreadCounters* const counters = fast_;
    if (counters == nullptr) [[unlikely]]
      return false;
    const std::uint64_t now = processor_ticks();
    Frame* const frame = top_;
    const ThreadCounters::Members members = counters->members();
    std::uint64_t missed_ns = 0;
    if (frame->ticket != ticket || !frame->short_way ||
        !ThreadCounters::read_in_user_space(members, missed_ns, [](auto...) {}) ||
        missed_ns != counters->missed_ns_alone()) [[unlikely]]
      return false;
    pop_in_user_space(frame, members, now);
    return true;
  }
  // False: no region of this thread.
  bool leave(Ticket ticket) noexcept;

  bool declare(Ticket ticket, double flops, double bytes);
  bool describe(Ticket ticket, const char* type, const char* shape) noexcept;
  // From now on; only while the thread is in no region.
  void keep_calls(RegionTrace* trace);
  // The thread ends: whatever is open ends with it. How many that were.
  std::size_t leave_all();

  [[nodiscard]] const RegionTree& tree() const { return tree_; }
  [[nodiscard]] const RegionMishaps& mishaps() const { return mishaps_; }
  RegionMishaps& mishaps() { return mishaps_; }
  [[nodiscard]] ThreadCounters* counters() { return counters_; }

 private:
  struct Frame {
    RegionNode* node = nullptr;  // nullptr: dropped
    Ticket ticket = kNoTicket;
    std::uint64_t start_time = 0;  // of clock_
    std::uint64_t inner_ns = 0;    // ns, of the regions entered directly in this one
    // Read in user space, and not nested in itself: leave_fast() asks for no more.
    bool short_way = false;
    Edge start;
    RegionValues inner;
  };

  // What every call is summed up in; `change` adds the rest.
  template <bool kNestedInItself, class Change>
  [[gnu::always_inline]] void sum_up(Frame& frame, Frame& outer, std::uint64_t took_ns,
                                     Change change) {
    RegionNode& node = *frame.node;
    const std::uint64_t before = tree_.begin_change();
    node.calls.add(1);
    node.self_ns.add(took_ns - frame.inner_ns);
    if constexpr (kNestedInItself)
      node.nested.add(1);
    else
      node.total_ns.add(took_ns);
    change(node);
    tree_.end_change(before);
    outer.inner_ns += took_ns;
  }

  // The path of nearly all calls where counters are read in user space: nothing here that is not
  // needed at each of them.
  [[gnu::always_inline]] void pop_in_user_space(Frame* frame, ThreadCounters::Members members,
                                                std::uint64_t now) {
    Frame* const outer = top_ = frame - 1;
    const std::uint64_t took_ns = clock_.ticks_as_ns(now - frame->start_time);
    sum_up<false>(*frame, *outer, took_ns, [&](RegionNode& node) {
      RegionNode::Event* sums = node.events.get();
      ThreadCounters::take_last(members, [&](std::size_t number, std::uint64_t value) {
        const std::uint64_t count = value - frame->start.values[number];
        outer->inner[number] += count;
        sums[number].self.add(count - frame->inner[number]);
        sums[number].total.add(count);
      });
    });
  }

  Frame& open_frame(RegionNode* node) {
    Frame& frame = *++top_;
    frame.node = node;
    frame.ticket = ++last_ticket_;
    frame.inner_ns = 0;
    node->entered.add(1);
    return frame;
  }

  // Where fast_ is set: what comes after the counters' values counts as the region's.
  [[gnu::always_inline]] Ticket begin_fast(Frame& frame) noexcept {
    std::uint64_t missed_ns = 0;  // leaving looks at it
    const auto take = [&](std::size_t number, std::uint64_t value) {
      frame.start.values[number] = value;
      frame.inner[number] = 0;
    };
    const bool read = ThreadCounters::read_in_user_space(fast_->members(), missed_ns, take);
    if (!read) [[unlikely]]
      return begin(frame);
    frame.start.read_by = ReadBy::kUserSpace;
    frame.short_way = !is_nested_in_itself(frame);
    frame.start_time = processor_ticks();
    return frame.ticket;
  }
  // The other ways to count, or none. The frame's ticket.
  Ticket begin(Frame& frame) noexcept;
  void grow();
  void pop(std::uint64_t now);
  void add_counts(Frame& frame, const Edge& end, std::uint64_t took_ns);
  void mark_memory();
  void add_memory(RegionNode& node, bool nested);
  void keep_call(const Frame& frame, const Edge& end, std::uint64_t now);
  [[nodiscard]] bool is_nested_in_itself(const Frame& frame) const {
    return frame.node == (&frame - 1)->node;
  }
  void stop_user_space();
  bool leave_outer(Ticket ticket, std::uint64_t now);

  // Set while counters are read in user space and the clock is the processor's: both edges then
  // take a short way.
  ThreadCounters* fast_ = nullptr;
  // Open regions stand from frames_[1] to *top_. The first is around them all: the root's.
  Frame* top_ = nullptr;
  Frame* last_ = nullptr;
  Ticket last_ticket_;
  RegionClock clock_;
  RegionTree tree_;
  ThreadCounters* counters_;
  std::vector<Frame> frames_;
  RegionMishaps mishaps_;
  // What was allocated at the entry of each of frames_, and in the regions directly inside; apart
  // from them, so that the short way stays as short.
  struct MemoryMark {
    hwprof_memory at_entry;
    std::uint64_t inner = 0;
  };
  hwprof_memory* memory_;
  std::vector<MemoryMark> marks_;
  RegionTrace* trace_;
};

}  // namespace hwprof
