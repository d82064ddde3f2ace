#include "counters/region_thread.h"

#include <algorithm>

namespace hwprof {
namespace {

constexpr std::size_t kFirstDepth = 32;

}  // namespace

RegionThread::RegionThread(std::uint64_t number, std::size_t event_count, ThreadCounters* counters)
    : tree_(event_count),
      frames_(kFirstDepth),
      last_ticket_(number << kEntryBits),
      counters_(counters) {}

void RegionThread::grow() { frames_.resize(frames_.size() * 2); }

void RegionThread::begin_counting(Frame& frame) {
  counters_->read(frame.start);
  std::fill_n(frame.inner.begin(), tree_.event_count(), 0);
}

void RegionThread::add_counts(Frame& frame, const Edge& end, std::uint64_t took_ns) {
  Frame* outer = depth_ == 0 ? nullptr : &frames_[depth_ - 1];
  if (!frame.start.counted || !end.counted) {
    // What this call took cannot be taken from the outer region's self either.
    if (outer != nullptr) outer->start.counted = false;
    return;
  }
  const std::uint64_t missed_ns = end.missed_ns - frame.start.missed_ns;
  const bool user_space = frame.start.user_space || end.user_space;
  // Shared counters need a scale factor, and without both times it would be a guess: such a call
  // counts as not counted, and the next ones use read().
  const bool known = !user_space || missed_ns == 0;
  if (!known) counters_->stop_user_space();
  for (std::size_t i = 0; i < tree_.event_count(); ++i) {
    const std::uint64_t count = end.values[i] - frame.start.values[i];
    if (outer != nullptr) outer->inner[i] += count;
    if (!known) continue;
    RegionNode::Event& sums = frame.node->events[i];
    add(sums.self, count - frame.inner[i]);
    if (!frame.nested_in_itself) add(sums.total, count);
  }
  if (!known) return;
  add(frame.node->counted_calls, 1);
  if (frame.nested_in_itself) return;
  const std::uint64_t enabled_ns = user_space ? took_ns : end.enabled_ns - frame.start.enabled_ns;
  add(frame.node->enabled_ns, enabled_ns);
  add(frame.node->running_ns, enabled_ns - std::min(missed_ns, enabled_ns));
}

bool RegionThread::leave_outer(Ticket ticket, std::uint64_t now_ns) {
  std::size_t at = depth_;
  while (at != 0 && frames_[at - 1].ticket != ticket) --at;
  if (at == 0) return false;
  add(mishaps_.left_by_outer, depth_ - at);
  while (depth_ >= at) pop(now_ns);
  return true;
}

bool RegionThread::declare(Ticket ticket, double flops, double bytes) {
  for (std::size_t at = depth_; at != 0; --at) {
    const Frame& frame = frames_[at - 1];
    if (frame.ticket != ticket) continue;
    if (frame.node == nullptr) return true;
    add(frame.node->flops, flops);
    add(frame.node->bytes, bytes);
    return true;
  }
  return false;
}

std::size_t RegionThread::leave_all() {
  const std::uint64_t now_ns = monotonic_ns();
  const std::size_t open = depth_;
  while (depth_ != 0) {
    RegionNode* node = frames_[depth_ - 1].node;
    if (node != nullptr) add(node->unfinished, 1);
    pop(now_ns);
  }
  return open;
}

}  // namespace hwprof
