#include "counters/regions/region_thread.h"

#include <algorithm>
#include <new>

namespace hwprof {
namespace {

constexpr std::size_t kFirstDepth = 32;

// What the regions themselves allocate is none of the program's memory.
class OwnAllocations {
 public:
  explicit OwnAllocations(hwprof_memory* memory) : memory_(memory) {
    if (memory_ != nullptr) before_ = *memory_;
  }
  OwnAllocations(const OwnAllocations&) = delete;
  OwnAllocations& operator=(const OwnAllocations&) = delete;
  ~OwnAllocations() {
    if (memory_ != nullptr) *memory_ = before_;
  }

 private:
  hwprof_memory* memory_;
  hwprof_memory before_{};
};

bool reads_in_user_space(const ThreadCounters* counters) {
  return counters != nullptr && counters->user_space();
}

}  // namespace

RegionThread::RegionThread(std::uint64_t number, std::size_t event_count, ThreadCounters* counters,
                           RegionClock clock, hwprof_memory* memory, RegionTrace* trace,
                           const RegionWatcher* watcher)
    : clock_(clock),
      untraced_clock_(clock),
      last_ticket_(number << kEntryBits),
      tree_(event_count, reads_in_user_space(counters) && clock == RegionClock::kCounter),
      counters_(counters),
      frames_(kFirstDepth),
      memory_(memory),
      marks_(memory == nullptr ? 0 : kFirstDepth),
      trace_(trace),
      watcher_(watcher) {
  top_ = frames_.data();
  last_ = top_ + frames_.size() - 1;
  top_->node = tree_.root();
  choose_way();
}

void RegionThread::choose_way() {
  clock_ = trace_ == nullptr ? untraced_clock_ : RegionClock::kKernel;
  const bool counted = reads_in_user_space(counters_);
  short_way_ = clock_ == RegionClock::kCounter && memory_ == nullptr && watcher_ == nullptr &&
               (counters_ == nullptr || counted);
  short_counters_ = short_way_ && counted ? counters_ : nullptr;
}

void RegionThread::grow() {
  const auto depth = top_ - frames_.data();
  frames_.resize(frames_.size() * 2);
  if (memory_ != nullptr) marks_.resize(frames_.size());
  top_ = frames_.data() + depth;
  last_ = frames_.data() + frames_.size() - 1;
}

RegionThread::Ticket RegionThread::enter_slowly(const char* name) noexcept try {
  RegionNode* node = nullptr;
  {
    const OwnAllocations own(memory_);
    if (top_ == last_) grow();
    RegionNode* above = top_->node;
    if (above != nullptr) node = tree_.child(above, name == nullptr ? "(no name)" : name);
  }
  if (node != nullptr) {
    Frame& frame = open_frame(node);
    if (memory_ != nullptr) mark_memory();
    const Ticket ticket = short_way_ ? begin_fast(frame) : begin(frame);
    if (watcher_ != nullptr) watcher_->entered(node->name.text().c_str(), ticket);
    return ticket;
  }
  mishaps_.dropped.add(1);
  Frame& frame = *++top_;
  frame.node = nullptr;
  frame.start.read_by = ReadBy::kNobody;
  frame.short_way = false;
  return frame.ticket = ++last_ticket_;
} catch (const std::bad_alloc&) {
  return kNoTicket;
}

RegionThread::Ticket RegionThread::begin(Frame& frame) noexcept {
  frame.start.read_by = ReadBy::kNobody;
  frame.short_way = false;
  if (counters_ != nullptr) {
    std::fill_n(frame.inner.begin(), tree_.event_count(), 0);
    counters_->read(frame.start);
  }
  frame.start_time = now_of(clock_);
  return frame.ticket;
}

bool RegionThread::leave(Ticket ticket) noexcept {
  const std::uint64_t now = now_of(clock_);
  if (top_->ticket != ticket || ticket == kNoTicket) return leave_outer(ticket, now);
  tell_leaving(ticket);
  pop(now);
  return true;
}

void RegionThread::pop(std::uint64_t now) {
  Frame& frame = *top_;
  if (frame.node == nullptr) {
    --top_;
    return;
  }
  Edge end;
  if (counters_ != nullptr) counters_->read(end);
  --top_;
  std::uint64_t took = now - frame.start_time;
  if (is_negative(took)) {
    mishaps_.backwards.add(1);
    took = 0;
  }
  const auto add_the_rest = [&](RegionNode& node) {
    if (counters_ != nullptr) add_counts(frame, end, took);
    if (memory_ != nullptr) add_memory(node, is_nested_in_itself(frame));
  };
  if (trace_ != nullptr) keep_call(frame, end, now);
  RegionNode::Times& times = frame.node->times(clock_);
  if (is_nested_in_itself(frame))
    sum_up<true>(frame, *top_, times, took, add_the_rest);
  else
    sum_up<false>(frame, *top_, times, took, add_the_rest);
}

void RegionThread::stop_user_space() {
  counters_->stop_user_space();
  choose_way();
}

void RegionThread::add_counts(Frame& frame, const Edge& end, std::uint64_t took) {
  RegionNode& node = *frame.node;
  const bool nested = is_nested_in_itself(frame);
  const auto count_as_other = [&] {
    if (!tree_.user_space()) return;
    node.other_calls.add(1);
    if (!nested) node.times(clock_).other.add(took);
  };
  Frame& outer = *top_;
  if (frame.start.read_by == ReadBy::kNobody || end.read_by == ReadBy::kNobody) {
    // What this call took cannot be taken from the outer region's self either.
    outer.start.read_by = ReadBy::kNobody;
    outer.short_way = false;
    return count_as_other();
  }
  // Where an entry took the short way its missed_ns is not set: leaving looks whether that is still
  // what it was when the thread was alone.
  const auto missed_ns = [&](const Edge& edge) {
    return &edge == &frame.start && edge.read_by == ReadBy::kUserSpace
               ? counters_->missed_ns_alone()
               : edge.missed_ns;
  };
  const std::uint64_t missed_inside_ns = missed_ns(end) - missed_ns(frame.start);
  const bool user_space =
      frame.start.read_by == ReadBy::kUserSpace || end.read_by == ReadBy::kUserSpace;
  // Shared counters need a scale factor, and without both times it would be a guess: such a call
  // counts as not counted, and the next ones use read().
  const bool known = !user_space || missed_inside_ns == 0;
  if (!known) stop_user_space();
  for (std::size_t i = 0; i < tree_.event_count(); ++i) {
    const std::uint64_t count = end.values[i] - frame.start.values[i];
    outer.inner[i] += count;
    if (!known) continue;
    RegionNode::Event& sums = node.events[i];
    sums.self.add(count - frame.inner[i]);
    if (!nested) sums.total.add(count);
  }
  // Counted all the time that it took: in such a tree, that is what is not said of a call.
  if (known && user_space && tree_.user_space()) return;
  count_as_other();
  if (!known) return;
  node.counted_calls.add(1);
  if (nested) return;
  // Else the clock is the kernel's, in ns.
  const std::uint64_t enabled_ns = user_space ? took : end.enabled_ns - frame.start.enabled_ns;
  node.enabled_ns.add(enabled_ns);
  node.running_ns.add(enabled_ns - std::min(missed_inside_ns, enabled_ns));
}

// Between the frame's entry and the next one of the region around it, the peak is that inside.
void RegionThread::mark_memory() {
  marks_[static_cast<std::size_t>(top_ - frames_.data())] = {*memory_, 0};
  memory_->peak = memory_->live;
}

// Of the frame above *top_.
void RegionThread::add_memory(RegionNode& node, bool nested) {
  MemoryMark& outer = marks_[static_cast<std::size_t>(top_ - frames_.data())];
  const MemoryMark& mark = *(&outer + 1);
  const std::uint64_t allocated = memory_->allocated - mark.at_entry.allocated;
  node.allocated_self.add(allocated - mark.inner);
  if (!nested) node.allocated_total.add(allocated);
  const auto peak = static_cast<std::uint64_t>(memory_->peak - mark.at_entry.live);
  node.memory_peak = std::max(node.memory_peak.load(), peak);
  memory_->peak = std::max(memory_->peak, mark.at_entry.peak);
  outer.inner += allocated;
}

void RegionThread::keep_call(const Frame& frame, const Edge& end, std::uint64_t now_ns) {
  const bool read = frame.start.read_by != ReadBy::kNobody && end.read_by != ReadBy::kNobody;
  TraceCall call{.node = frame.node,
                 .start = frame.start_time,
                 .end = now_ns,
                 .counted = counters_ != nullptr && read && end.missed_ns == frame.start.missed_ns,
                 .allocated = 0,
                 .live_at_start = 0,
                 .live_at_end = 0};
  if (memory_ != nullptr) {
    const MemoryMark& mark = marks_[static_cast<std::size_t>(&frame - frames_.data())];
    call.allocated = memory_->allocated - mark.at_entry.allocated;
    call.live_at_start = mark.at_entry.live;
    call.live_at_end = memory_->live;
  }
  trace_->add(call, frame.start, end);
}

void RegionThread::keep_calls(RegionTrace* trace) {
  trace_ = trace;
  choose_way();
}

bool RegionThread::describe(Ticket ticket, const char* type, const char* shape) noexcept {
  Frame& frame = *top_;
  if (frame.ticket != ticket || ticket == kNoTicket || frame.inner_time != 0) {
    mishaps_.undescribed.add(1);
    return false;
  }
  if (frame.node == nullptr || is_nested_in_itself(frame)) return true;
  const OwnAllocations own(memory_);
  RegionNode* node =
      tree_.described(frame.node, type == nullptr ? "" : type, shape == nullptr ? "" : shape);
  if (node == nullptr) return true;  // no room: the call stays with those that were not described
  frame.node->entered.add(-std::uint64_t{1});
  node->entered.add(1);
  frame.node = node;
  return true;
}

bool RegionThread::leave_outer(Ticket ticket, std::uint64_t now) {
  Frame* at = top_;
  while (at != frames_.data() && at->ticket != ticket) --at;
  if (at == frames_.data()) return false;
  tell_leaving(ticket);
  mishaps_.left_by_outer.add(static_cast<std::uint64_t>(top_ - at));
  while (top_ >= at) pop(now);
  return true;
}

bool RegionThread::declare(Ticket ticket, double flops, double bytes) {
  for (const Frame* frame = top_; frame != frames_.data(); --frame) {
    if (frame->ticket != ticket) continue;
    if (watcher_ != nullptr) watcher_->declared(flops);
    if (frame->node == nullptr) return true;
    add(frame->node->flops, flops);
    add(frame->node->bytes, bytes);
    return true;
  }
  return false;
}

std::size_t RegionThread::write_open_path(std::span<char> to) const noexcept {
  if (to.empty()) return 0;
  // From its end: the innermost names say most.
  std::size_t free = to.size() - 1;
  std::size_t open = 0;
  for (const Frame* frame = top_; frame != frames_.data(); --frame, ++open) {
    if (frame->node == nullptr || is_nested_in_itself(*frame)) continue;
    const std::string& name = frame->node->name.text();
    if (free + 1 < to.size() && free > 0) to[--free] = '/';
    const std::size_t bytes = std::min(free, name.size());
    std::copy_n(name.end() - static_cast<std::ptrdiff_t>(bytes), bytes,
                to.begin() + static_cast<std::ptrdiff_t>(free -= bytes));
  }
  std::copy(to.begin() + static_cast<std::ptrdiff_t>(free), to.end() - 1, to.begin());
  to[to.size() - 1 - free] = '\0';
  return open;
}

std::size_t RegionThread::leave_all() {
  const std::uint64_t now = now_of(clock_);
  const auto open = static_cast<std::size_t>(top_ - frames_.data());
  while (top_ != frames_.data()) {
    if (top_->node != nullptr) top_->node->unfinished.add(1);
    pop(now);
  }
  return open;
}

}  // namespace hwprof
