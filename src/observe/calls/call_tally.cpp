#include "src/observe/calls/call_tally.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/observe/calls/bindings.h"

namespace hwprof::observe {
namespace {

constexpr std::size_t kMostPlaces = 65536;

std::optional<Shape> shape_of_hit(const Routine& routine, const ProbeHit& hit) {
  Shape shape;
  return shape_of(routine, hit, shape) ? std::optional(shape) : std::nullopt;
}

void count_in(ShapeCounts& counts, const std::optional<Shape>& shape, const CountedCalls& calls) {
  if (shape) {
    counts.add(*shape, calls);
  } else {
    counts.add_others(calls);
  }
}

}  // namespace

std::uint32_t CallTally::watch(WatchedRoutine routine) {
  const EntryPoint& entry = routine.entry;
  // oneDNN may call a BLAS, and that is a call like any other.
  if (entry.routine.blas && entry.size > 0) {
    code_[routine.path][entry.offset] = entry.offset + entry.size;
  }
  operations_.push_back(operation_of(entry.symbol));
  routines_.push_back(std::move(routine));
  return static_cast<std::uint32_t>(routines_.size() - 1);
}

void CallTally::also_named(const std::string& path, const std::string& other) {
  watched_as_.insert_or_assign(other, path);
}

const std::string& CallTally::watched_as(const std::string& path) const {
  const auto known = watched_as_.find(path);
  return known != watched_as_.end() ? known->second : path;
}

const std::string& CallTally::reported_as(const std::string& path) const {
  const auto known = reported_as_.find(path);
  return known != reported_as_.end() ? known->second : path;
}

std::string CallTally::file_of(const Mapping* caller) const {
  return caller != nullptr ? watched_as(caller->path) : std::string();
}

void CallTally::add(const ProbeHit& hit) {
  if (hit.leaves) {
    leave(hit);
  } else {
    enter(hit);
  }
}

void CallTally::apply(const Record& change) {
  if (const auto* exited = std::get_if<Exited>(&change.body)) {
    if (auto thread = threads_.find(exited->tid); thread != threads_.end()) {
      book(thread->second);
      threads_.erase(thread);
    }
  }
  if (const auto* mapped = std::get_if<Mapped>(&change.body)) {
    if (const std::string& path = watched_as(mapped->path); code_.contains(path))
      reported_as_.try_emplace(path, mapped->path);
  }
  spaces_.apply(change);
}

bool CallTally::inside_routine(const Mapping* caller, std::uint64_t return_address) const {
  if (caller == nullptr) return false;
  const auto file = code_.find(watched_as(caller->path));
  if (file == code_.end()) return false;
  const std::uint64_t offset = return_address - caller->start + caller->offset;
  // A return address behind a last instruction that calls belongs to the routine before it.
  auto above = file->second.lower_bound(offset);
  return above != file->second.begin() && offset <= std::prev(above)->second;
}

bool CallTally::jumped(const Thread& thread, const ProbeHit& hit) const {
  const auto& begun = thread.begun_as;
  return !begun.empty() && thread.last.stack_pointer == hit.stack_pointer &&
         thread.last.return_address == hit.return_address &&
         std::find(begun.begin(), begun.end(), hit.id) == begun.end() &&
         operations_[begun.back()] == operations_[hit.id] && may_jump(begun.back(), hit.id);
}

// Tables are how one file calls another; within a file the linker knows.
bool CallTally::may_jump(std::uint32_t from, std::uint32_t to) const {
  const Jumps& jumps = routines_[from].entry.jumps;
  return jumps.direct || (jumps.by_table && routines_[from].path != routines_[to].path);
}

std::vector<std::string> CallTally::notes() const {
  std::vector<std::string> all;
  for (const auto& [jump, count] : jumps_) {
    const WatchedRoutine &from = routines_[jump.first], &to = routines_[jump.second];
    all.push_back(fmt::format(
        "{} calls of {} in {} were taken for part of the call of {} in {} before each: a jump at "
        "its end looks like one instruction that calls both by turns. --calls-by audit tells them "
        "apart.",
        count, to.entry.symbol, reported_as(to.path), from.entry.symbol, reported_as(from.path)));
  }
  return all;
}

void CallTally::enter(const ProbeHit& hit) {
  if (hit.id >= routines_.size()) return;
  const Routine& routine = routines_[hit.id].entry.routine;
  Thread& thread = threads_[hit.tid];
  const Frame frame{hit.id, hit.stack_pointer, hit.return_address};
  const Mapping* caller = spaces_.find(hit.pid, hit.return_address);

  // The stack grows down: what began below this call is over, whether its return was seen or not;
  // and so is a call of the same routine from the same place.
  const auto is_over = [&](const Frame& earlier) {
    return earlier.stack_pointer < hit.stack_pointer ||
           (earlier.stack_pointer == hit.stack_pointer && earlier.id == hit.id);
  };
  while (!thread.frames.empty() && is_over(thread.frames.back())) thread.frames.pop_back();
  const bool goes_on = routine.blas && jumped(thread, hit);
  // And so is one that was left by a longjmp(), where a file calls that has no routines. A jump's
  // return address is that of the kernel's own page where a return is watched.
  const bool is_outside = caller != nullptr && !caller->path.starts_with('[') &&
                          !code_.contains(watched_as(caller->path));
  if (routine.blas && is_outside && !goes_on) thread.frames.clear();
  const bool nested =
      routine.blas && thread.call &&
      (!thread.frames.empty() || goes_on || inside_routine(caller, hit.return_address));
  if (routine.blas) {
    const bool is_watched = caller != nullptr && caller->path.starts_with('[');
    if (goes_on && !is_watched) ++jumps_[{thread.begun_as.back(), hit.id}];
    if (!goes_on) thread.begun_as.clear();
    thread.begun_as.push_back(hit.id);
    thread.last = frame;
    if (timing_ && routine.timed) thread.frames.push_back(frame);
  }
  if (nested) {
    thread.call->innermost = hit.id;
    remember(hit.return_address, hit.id, {true, hit.id});
    return;
  }
  book(thread);
  thread.call = Call{
      hit.id, hit.id, file_of(caller), hit.return_address, hit.time_ns, shape_of_hit(routine, hit)};
}

void CallTally::leave(const ProbeHit& hit) {
  ++returns_;
  const auto found = threads_.find(hit.tid);
  if (found == threads_.end()) return;
  Thread& thread = found->second;
  const auto entered = std::find_if(thread.frames.rbegin(), thread.frames.rend(),
                                    [&](const Frame& frame) { return frame.id == hit.id; });
  if (entered == thread.frames.rend()) return;
  thread.frames.erase(std::prev(entered.base()), thread.frames.end());
  thread.begun_as.clear();
  if (thread.frames.empty() && thread.call && thread.call->id == hit.id) {
    thread.call->time_ns = static_cast<double>(hit.time_ns - thread.call->began_ns);
    inside_.add(thread.call->began_ns, hit.time_ns);
  }
}

CallTally::Site& CallTally::site_of(std::uint32_t id, std::uint32_t innermost,
                                    const std::string& caller) {
  return sites_.try_emplace({id, routines_[innermost].path, caller}, routines_[id].entry.routine)
      .first->second;
}

void CallTally::book(Thread& thread) {
  if (!thread.call) return;
  const Call& call = *thread.call;
  remember(call.return_address, call.id, {false, call.innermost});
  Site& site = site_of(call.id, call.innermost, call.caller);
  count_in(site.shapes, call.shape, {1, call.time_ns >= 0 ? 1U : 0U, std::max(call.time_ns, 0.0)});
  thread.call.reset();
}

void CallTally::remember(std::uint64_t return_address, std::uint32_t id, Habit habit) {
  const Place place(return_address, id);
  if (auto known = habits_.find(place); known != habits_.end()) {
    known->second = habit;
  } else if (habits_.size() < kMostPlaces) {
    habits_.emplace(place, habit);
  }
}

void CallTally::add_sample(const ProbeHit& hit) {
  if (hit.id >= routines_.size()) return;
  const Mapping* caller = spaces_.find(hit.pid, hit.return_address);
  Habit habit{false, hit.id};
  if (auto known = habits_.find({hit.return_address, hit.id}); known != habits_.end()) {
    habit = known->second;
  } else if (routines_[hit.id].entry.routine.blas) {
    habit.nested = inside_routine(caller, hit.return_address);
  }
  if (habit.nested) {
    ++nested_samples_;
    return;
  }
  Site& site = site_of(hit.id, habit.innermost, file_of(caller));
  count_in(site.sampled, shape_of_hit(routines_[hit.id].entry.routine, hit), {});
  ++site.samples;
}

bool CallTally::scale_samples(std::uint64_t calls) {
  std::uint64_t samples = nested_samples_;
  for (const auto& [key, site] : sites_) samples += site.samples;
  if (samples == 0) return calls == 0;
  Scale scale(samples, calls);
  for (auto& [key, site] : sites_) {
    if (site.samples == 0) continue;
    site.shapes.merge(site.sampled, scale);
    site.sampled = ShapeCounts(routines_[std::get<0>(key)].entry.routine);
    site.samples = 0;
  }
  return true;
}

std::optional<double> CallTally::wall_ns() const {
  bool any = false;
  for (const auto& [key, site] : sites_) {
    if (!routines_[std::get<0>(key)].entry.routine.timed) continue;
    const CountedCalls all = site.shapes.all();
    if (all.timed != all.count) return std::nullopt;
    any = true;
  }
  return any ? std::optional(inside_.sum()) : std::nullopt;
}

void CallTally::stop_timing() {
  timing_ = false;
  for (auto& [tid, thread] : threads_) thread.frames.clear();
}

std::vector<report::CallSite> CallTally::sites() {
  for (auto& [tid, thread] : threads_) book(thread);
  std::vector<report::CallSite> result;
  for (const auto& [key, site] : sites_) {
    const auto& [id, library, caller] = key;
    const EntryPoint& entry = routines_[id].entry;
    report::CallSite out;
    out.symbol = entry.symbol;
    out.library = reported_as(library);
    out.caller = reported_as(caller);
    site.shapes.write(out);
    result.push_back(std::move(out));
  }
  most_flop_first(result);
  return result;
}

}  // namespace hwprof::observe
