// The regions of one thread: the stack of those that it is in, its tree of call paths, its
// counters. What happens at each edge is here, in the order that keeps the cost out of the region:
// counters, clock | the region | clock, counters.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "counters/regions/hwprof.h"
#include "counters/regions/region_edge.h"
#include "counters/regions/region_trace.h"
#include "counters/regions/region_tree.h"
#include "counters/regions/region_watcher.h"

namespace hwprof {

// Ways of leaving that a report has to mention. Written by the thread itself.
struct RegionMishaps {
  RegionNumber left_by_outer = 0;  // closed because the region around it was left
  RegionNumber dropped = 0;        // entries not recorded: too many call paths
  RegionNumber undescribed = 0;    // descriptions that came too late
  RegionNumber backwards = 0;      // calls that ended before they began, by the counter
};

class RegionThread {
 public:
  using Ticket = std::uint64_t;  // number of the thread, then that of the entry
  static constexpr Ticket kNoTicket = 0;
  static constexpr unsigned kEntryBits = 40;

  // `memory` and `trace`: where the thread's allocations are counted, and its calls kept;
  // `watcher`: who is told of its edges; nullptr: they are not. With any, edges take the long way;
  // calls that are kept are timed by the kernel.
  RegionThread(std::uint64_t number, std::size_t event_count, ThreadCounters* counters,
               RegionClock clock, hwprof_memory* memory = nullptr, RegionTrace* trace = nullptr,
               const RegionWatcher* watcher = nullptr);
  RegionThread(const RegionThread&) = delete;
  RegionThread& operator=(const RegionThread&) = delete;

  // kNoTicket: no memory. `name` may be nullptr.
  [[gnu::always_inline]] Ticket enter(const char* name) noexcept {
    // Nothing but calls in the last place, here and in leave_fast(): registers need not be saved.
    if (!short_way_ || top_ == last_ || name == nullptr) [[unlikely]]
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
    if (!short_way_) [[unlikely]]
      return false;
    const std::uint64_t now = processor_ticks_behind();
    Frame* const frame = top_;
    const std::uint64_t took = now - frame->start_time;
    if (frame->ticket != ticket || !frame->short_way || is_negative(took)) [[unlikely]]
      return false;
    ThreadCounters* const counters = short_counters_;
    if (counters == nullptr) {
      top_ = frame - 1;
      sum_up<false>(*frame, frame[-1], frame->node->ticks, took, [](auto&) {});
      return true;
    }
    const ThreadCounters::Members members = counters->members();
    std::uint64_t missed_ns = 0;
    if (!ThreadCounters::read_in_user_space(members, missed_ns, [](auto...) {}) ||
        missed_ns != counters->missed_ns_alone()) [[unlikely]]
      return false;
    pop_in_user_space(frame, members, took);
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

  // The names of the open regions with '/' between them, or the end of that; ends with 0. How many
  // are open. Takes no memory.
  std::size_t write_open_path(std::span<char> to) const noexcept;

  [[nodiscard]] const RegionTree& tree() const { return tree_; }
  [[nodiscard]] const RegionMishaps& mishaps() const { return mishaps_; }
  RegionMishaps& mishaps() { return mishaps_; }
  [[nodiscard]] ThreadCounters* counters() { return counters_; }

 private:
  struct Frame {
    RegionNode* node = nullptr;  // nullptr: dropped
    Ticket ticket = kNoTicket;
    std::uint64_t start_time = 0;  // of clock_, as the next
    std::uint64_t inner_time = 0;  // of the regions entered directly in this one
    // Entered so that it may be left by leave_fast(), and not nested in itself.
    bool short_way = false;
    Edge start;
    RegionValues inner;
  };

  // What every call is summed up in; `change` adds the rest.
  template <bool kNestedInItself, class Change>
  [[gnu::always_inline]] void sum_up(Frame& frame, Frame& outer, RegionNode::Times& times,
                                     std::uint64_t took, Change change) {
    RegionNode& node = *frame.node;
    const std::uint64_t before = tree_.begin_change();
    node.calls.add(1);
    times.self.add(took - frame.inner_time);
    if constexpr (kNestedInItself)
      node.nested.add(1);
    else
      times.total.add(took);
    change(node);
    tree_.end_change(before);
    outer.inner_time += took;
  }

  // The path of nearly all calls where counters are read in user space: nothing here that is not
  // needed at each of them.
  [[gnu::always_inline]] void pop_in_user_space(Frame* frame, ThreadCounters::Members members,
                                                std::uint64_t took) {
    Frame* const outer = top_ = frame - 1;
    sum_up<false>(*frame, *outer, frame->node->ticks, took, [&](RegionNode& node) {
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
    frame.inner_time = 0;
    node->entered.add(1);
    return frame;
  }

  // What comes after the counters' values counts as the region's.
  [[gnu::always_inline]] Ticket begin_fast(Frame& frame) noexcept {
    if (short_counters_ != nullptr) {
      std::uint64_t missed_ns = 0;  // leaving looks at it
      const auto take = [&](std::size_t number, std::uint64_t value) {
        frame.start.values[number] = value;
        frame.inner[number] = 0;
      };
      const bool read =
          ThreadCounters::read_in_user_space(short_counters_->members(), missed_ns, take);
      if (!read) [[unlikely]]
        return begin(frame);
      frame.start.read_by = ReadBy::kUserSpace;
    }
    frame.short_way = !is_nested_in_itself(frame);
    const Ticket ticket = frame.ticket;
    frame.start_time = processor_ticks();
    return ticket;
  }
  // The other ways to count, or none. The frame's ticket.
  Ticket begin(Frame& frame) noexcept;
  void grow();
  void pop(std::uint64_t now);
  void add_counts(Frame& frame, const Edge& end, std::uint64_t took);
  void mark_memory();
  void add_memory(RegionNode& node, bool nested);
  void keep_call(const Frame& frame, const Edge& end, std::uint64_t now_ns);
  void choose_way();
  // A duration: the thread has come to a CPU whose counter is behind.
  static bool is_negative(std::uint64_t took) { return static_cast<std::int64_t>(took) < 0; }
  [[nodiscard]] bool is_nested_in_itself(const Frame& frame) const {
    return frame.node == (&frame - 1)->node;
  }
  void stop_user_space();
  bool leave_outer(Ticket ticket, std::uint64_t now);
  // Before the frame of `ticket` and those above it are closed.
  void tell_leaving(Ticket ticket) const {
    if (watcher_ != nullptr) watcher_->leaving(ticket);
  }

  // Where the clock is the processor's, both edges take a short way, with counters that are read in
  // user space, or without any.
  bool short_way_ = false;
  ThreadCounters* short_counters_ = nullptr;
  RegionClock clock_;  // changes only while the thread is in no region
  const RegionClock untraced_clock_;
  // Open regions stand from frames_[1] to *top_. The first is around them all: the root's.
  Frame* top_ = nullptr;
  Frame* last_ = nullptr;
  Ticket last_ticket_;
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
  const RegionWatcher* const watcher_;
};

}  // namespace hwprof
