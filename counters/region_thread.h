// The regions of one thread: the stack of those that it is in, its tree of call paths, its
// counters. What happens at each edge is here, in the order that keeps the cost out of the region:
// counters, clock | the region | clock, counters. Internal to counters/.
#pragma once

#include <time.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "counters/region_edge.h"
#include "counters/region_tree.h"

namespace hwprof {

// Ways of leaving that a report has to mention. Written by the thread itself.
struct RegionMishaps {
  RegionNumber left_by_outer = 0;  // closed because the region around it was left
  RegionNumber dropped = 0;        // entries not recorded: too many call paths
};

inline std::uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

class RegionThread {
 public:
  using Ticket = std::uint64_t;  // number of the thread, then that of the entry; 0: none
  static constexpr unsigned kEntryBits = 40;

  RegionThread(std::uint64_t number, std::size_t event_count, ThreadCounters* counters);

  Ticket enter(const char* name) {
    Frame& frame = push();
    RegionNode* above = parent_of(frame);
    frame.node = above == nullptr ? nullptr : tree_.child(above, name);
    if (frame.node == nullptr) {
      add(mishaps_.dropped, 1);
    } else {
      frame.nested_in_itself = frame.node == above;
      add(frame.node->open, 1);
    }
    frame.ticket = ++last_ticket_;
    frame.inner_ns = 0;
    if (counters_ != nullptr) begin_counting(frame);
    frame.start_ns = monotonic_ns();
    return frame.ticket;
  }

  // False: no region of this thread.
  bool leave(Ticket ticket) {
    const std::uint64_t now_ns = monotonic_ns();
    if (depth_ != 0 && frames_[depth_ - 1].ticket == ticket) {
      pop(now_ns);
      return true;
    }
    return leave_outer(ticket, now_ns);
  }

  bool declare(Ticket ticket, double flops, double bytes);
  // The thread ends: whatever is open ends with it. How many that were.
  std::size_t leave_all();

  [[nodiscard]] const RegionTree& tree() const { return tree_; }
  [[nodiscard]] const RegionMishaps& mishaps() const { return mishaps_; }
  RegionMishaps& mishaps() { return mishaps_; }
  [[nodiscard]] ThreadCounters* counters() { return counters_; }

 private:
  struct Frame {
    RegionNode* node = nullptr;  // nullptr: dropped
    Ticket ticket = 0;
    std::uint64_t start_ns = 0;
    std::uint64_t inner_ns = 0;  // of the regions entered directly in this one
    bool nested_in_itself = false;
    Edge start;
    std::array<std::uint64_t, kMostRegionEvents> inner;
  };

  Frame& push() {
    if (depth_ == frames_.size()) grow();
    return frames_[depth_++];
  }
  [[nodiscard]] RegionNode* parent_of(const Frame& frame) {
    return depth_ == 1 ? tree_.root() : (&frame - 1)->node;
  }
  void pop(std::uint64_t now_ns) {
    Frame& frame = frames_[--depth_];
    Edge end;
    if (counters_ != nullptr) counters_->read(end);
    if (frame.node == nullptr) return;
    const std::uint64_t took_ns = now_ns - frame.start_ns;
    RegionNode& node = *frame.node;
    tree_.begin_change();
    add(node.calls, 1);
    add(node.open, std::uint64_t{0} - 1);
    add(node.self_ns, took_ns - frame.inner_ns);
    if (frame.nested_in_itself)
      add(node.nested, 1);
    else
      add(node.total_ns, took_ns);
    if (counters_ != nullptr) add_counts(frame, end, took_ns);
    tree_.end_change();
    if (depth_ != 0) frames_[depth_ - 1].inner_ns += took_ns;
  }

  void grow();
  void begin_counting(Frame& frame);
  void add_counts(Frame& frame, const Edge& end, std::uint64_t took_ns);
  bool leave_outer(Ticket ticket, std::uint64_t now_ns);

  RegionTree tree_;
  std::vector<Frame> frames_;  // the first depth_ are open
  std::size_t depth_ = 0;
  Ticket last_ticket_;
  ThreadCounters* counters_;
  RegionMishaps mishaps_;
};

}  // namespace hwprof
