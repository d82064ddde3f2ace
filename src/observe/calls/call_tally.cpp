#include "src/observe/calls/call_tally.h"

#include <algorithm>
#include <utility>

#include "src/observe/calls/flop_count.h"

namespace hwprof::observe {
namespace {

constexpr std::size_t kMostPlaces = 65536;
constexpr std::size_t kMostIntervals = 4096;

std::optional<Shape> shape_of_hit(const Routine& routine, const ProbeHit& hit) {
  Shape shape;
  return shape_of(routine, hit, shape) ? std::optional(shape) : std::nullopt;
}

void count_in(ShapeCounts& counts, const std::optional<Shape>& shape) {
  if (shape) {
    counts.add(*shape);
  } else {
    counts.add_others();
  }
}

}  // namespace

std::uint64_t Scale::operator()(std::uint64_t samples) {
  seen_ += samples;
  // Each part gets what its end is beyond the end of the part before: roundings do not add up.
  const std::uint64_t end =
      seen_ >= samples_ ? all_ : static_cast<std::uint64_t>(static_cast<double>(seen_) * ratio_);
  return end - std::exchange(given_, end);
}

void ShapeCounts::keep(const Shape& shape, std::uint64_t count) {
  if (auto known = counts_.find(shape); known != counts_.end()) {
    known->second += count;
  } else if (counts_.size() < kMostShapes) {
    counts_.emplace(shape, count);
  } else {
    others_ += count;
  }
}

void ShapeCounts::add(const Shape& shape, std::uint64_t count) {
  flops_ += flop_count(routine_, shape) * static_cast<double>(count);
  keep(shape, count);
}

void ShapeCounts::add_others(std::uint64_t count) {
  others_ += count;
  if (count > 0) all_known_ = false;
}

void ShapeCounts::merge(const ShapeCounts& other) {
  for (const auto& [shape, count] : other.counts_) keep(shape, count);
  others_ += other.others_;
  flops_ += other.flops_;
  all_known_ = all_known_ && other.all_known_;
}

void ShapeCounts::merge(const ShapeCounts& sample, Scale& scale) {
  for (const auto& [shape, count] : sample.counts_) keep(shape, scale(count));
  others_ += scale(sample.others_);
  flops_ += sample.flops_ * scale.ratio();
  all_known_ = all_known_ && sample.all_known_;
}

void ShapeCounts::write(report::CallSite& site) const {
  site.count = others_;
  site.calls_of_other_shapes = others_;
  std::vector<std::pair<double, report::CallShape>> shapes;
  for (const auto& [shape, count] : counts_) {
    site.count += count;
    const auto is = [form = shape.form](ShapeForm bit) { return (form & bit) != 0; };
    shapes.push_back({flop_count(routine_, shape) * static_cast<double>(count),
                      {.m = shape.m,
                       .n = shape.n,
                       .k = shape.k,
                       .row_major = is(kRowMajor),
                       .right = is(kRightSide),
                       .transposed_a = is(kTransposedA),
                       .transposed_b = is(kTransposedB),
                       .count = count}});
  }
  std::stable_sort(shapes.begin(), shapes.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (auto& [flops, shape] : shapes) site.shapes.push_back(shape);
  if (all_known_ && routine_.work != Work::kUnknown) site.flops = flops_;
}

void UnionOfTimes::add(std::uint64_t begin_ns, std::uint64_t end_ns) {
  while (!parts_.empty() && parts_.back().second >= begin_ns) {
    begin_ns = std::min(begin_ns, parts_.back().first);
    end_ns = std::max(end_ns, parts_.back().second);
    parts_.pop_back();
  }
  parts_.emplace_back(begin_ns, end_ns);
  if (parts_.size() <= kMostIntervals) return;
  before_ns_ += static_cast<double>(parts_.front().second - parts_.front().first);
  parts_.pop_front();
}

double UnionOfTimes::ns() const {
  double sum = before_ns_;
  for (const auto& [begin, end] : parts_) sum += static_cast<double>(end - begin);
  return sum;
}

void most_flop_first(std::vector<report::CallSite>& sites) {
  std::stable_sort(
      sites.begin(), sites.end(), [](const report::CallSite& a, const report::CallSite& b) {
        return std::pair(a.flops.value_or(-1), a.count) > std::pair(b.flops.value_or(-1), b.count);
      });
}

std::uint32_t CallTally::watch(WatchedRoutine routine) {
  const EntryPoint& entry = routine.entry;
  // oneDNN may call a BLAS, and that is a call like any other.
  if (entry.routine.blas && entry.size > 0) {
    code_[routine.path][entry.offset] = entry.offset + entry.size;
  }
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
  const auto file = caller != nullptr ? code_.find(watched_as(caller->path)) : code_.end();
  if (file == code_.end()) return false;
  const std::uint64_t offset = return_address - caller->start + caller->offset;
  // A return address behind a last instruction that calls belongs to the routine before it.
  auto above = file->second.lower_bound(offset);
  return above != file->second.begin() && offset <= std::prev(above)->second;
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
  const bool jumped = thread.last && thread.last->id != hit.id &&
                      thread.last->stack_pointer == hit.stack_pointer &&
                      thread.last->return_address == hit.return_address;
  const bool nested =
      routine.blas && thread.call &&
      (!thread.frames.empty() || jumped || inside_routine(caller, hit.return_address));
  if (routine.blas) {
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
  count_in(site.shapes, call.shape);
  ++site.count;
  if (call.time_ns >= 0) {
    ++site.timed;
    site.time_ns += call.time_ns;
  }
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
  count_in(site.sampled, shape_of_hit(routines_[hit.id].entry.routine, hit));
  ++site.samples;
}

bool CallTally::scale_samples(std::uint64_t calls) {
  std::uint64_t samples = nested_samples_;
  for (const auto& [key, site] : sites_) samples += site.samples;
  if (samples == 0) return calls == 0;
  Scale scale(samples, calls);
  for (auto& [key, site] : sites_) {
    if (site.samples == 0) continue;
    Scale shapes = scale;
    site.shapes.merge(site.sampled, shapes);
    site.count += scale(site.samples);
    site.sampled = ShapeCounts(routines_[std::get<0>(key)].entry.routine);
    site.samples = 0;
  }
  return true;
}

std::optional<double> CallTally::wall_ns() const {
  bool any = false;
  for (const auto& [key, site] : sites_) {
    if (!routines_[std::get<0>(key)].entry.routine.timed) continue;
    if (site.timed != site.count) return std::nullopt;
    any = true;
  }
  return any ? std::optional(inside_.ns()) : std::nullopt;
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
    if (site.timed == site.count) out.time_ns = site.time_ns;
    result.push_back(std::move(out));
  }
  most_flop_first(result);
  return result;
}

}  // namespace hwprof::observe
