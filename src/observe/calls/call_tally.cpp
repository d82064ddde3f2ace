#include "src/observe/calls/call_tally.h"

#include <algorithm>
#include <utility>

namespace hwprof::observe {
namespace {

constexpr std::size_t kMostPlaces = 65536;

}  // namespace

std::uint64_t Scale::operator()(std::uint64_t samples) {
  seen_ += samples;
  // Each part gets what its end is beyond the end of the part before: roundings do not add up.
  const std::uint64_t end =
      seen_ >= samples_ ? all_ : static_cast<std::uint64_t>(static_cast<double>(seen_) * ratio_);
  return end - std::exchange(given_, end);
}

void ShapeCounts::add(std::uint64_t m, std::uint64_t n, std::uint64_t k, std::uint64_t count) {
  products_ += static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
               static_cast<double>(count);
  const std::tuple shape{m, n, k};
  if (auto known = counts_.find(shape); known != counts_.end()) {
    known->second += count;
  } else if (counts_.size() < kMostShapes) {
    counts_.emplace(shape, count);
  } else {
    others_ += count;
  }
}

void ShapeCounts::add_others(std::uint64_t count) {
  others_ += count;
  if (count > 0) all_known_ = false;
}

void ShapeCounts::merge(const ShapeCounts& other) {
  // The products of shapes that found no room in `other` are in its sum, and nowhere else.
  const double products = products_ + other.products_;
  for (const auto& [shape, count] : other.counts_) {
    add(std::get<0>(shape), std::get<1>(shape), std::get<2>(shape), count);
  }
  others_ += other.others_;
  products_ = products;
  all_known_ = all_known_ && other.all_known_;
}

void ShapeCounts::merge(const ShapeCounts& sample, Scale& scale) {
  const double products = products_ + sample.products_ * scale.ratio();
  for (const auto& [shape, count] : sample.counts_) {
    add(std::get<0>(shape), std::get<1>(shape), std::get<2>(shape), scale(count));
  }
  others_ += scale(sample.others_);
  products_ = products;
  all_known_ = all_known_ && sample.all_known_;
}

void ShapeCounts::write(const Routine& routine, report::CallSite& site) const {
  site.count = others_;
  site.calls_of_other_shapes = others_;
  for (const auto& [shape, count] : counts_) {
    site.count += count;
    const auto [m, n, k] = shape;
    if (routine.flops > 0) site.shapes.push_back({m, n, k, count});
  }
  if (routine.flops == 0) return;
  std::stable_sort(site.shapes.begin(), site.shapes.end(),
                   [](const report::CallShape& a, const report::CallShape& b) {
                     const auto work = [](const report::CallShape& shape) {
                       return static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                              static_cast<double>(shape.k) * static_cast<double>(shape.count);
                     };
                     return work(a) > work(b);
                   });
  if (all_known_) site.flops = routine.flops * products_;
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

void CallTally::add(const CallRecord& record) {
  using Kind = CallRecord::Kind;
  switch (record.kind) {
    case Kind::kEnter:
      return enter(record);
    case Kind::kLeave:
      return leave(record);
    case Kind::kMap:
      return map(record);
    case Kind::kFork:
      if (record.pid != record.parent) {
        const Mappings inherited = mappings_[record.parent];
        mappings_[record.pid] = inherited;
      }
      return;
    case Kind::kExec:
      mappings_.erase(record.pid);
      return;
    case Kind::kExit:
      if (auto thread = threads_.find(record.tid); thread != threads_.end()) {
        book(thread->second);
        threads_.erase(thread);
      }
      // Its other threads may live on: the mappings stay until the number is used again.
      return;
  }
}

void CallTally::map(const CallRecord& record) {
  Mappings& mappings = mappings_[record.pid];
  const std::uint64_t end = record.start + record.length;
  // What lay there is gone.
  auto old = mappings.lower_bound(record.start);
  if (old != mappings.begin() && std::prev(old)->second.end > record.start) --old;
  while (old != mappings.end() && old->first < end) old = mappings.erase(old);
  mappings[record.start] = {end, record.file_offset, record.path};
}

const CallTally::Mapping* CallTally::find_mapping(pid_t pid, std::uint64_t address,
                                                  std::uint64_t& offset) const {
  const auto process = mappings_.find(pid);
  if (process == mappings_.end()) return nullptr;
  auto above = process->second.upper_bound(address);
  if (above == process->second.begin()) return nullptr;
  const auto& [start, mapping] = *--above;
  if (address >= mapping.end) return nullptr;
  offset = address - start + mapping.file_offset;
  return &mapping;
}

bool CallTally::inside_routine(const Mapping& mapping, std::uint64_t offset) const {
  const auto file = code_.find(mapping.path);
  if (file == code_.end()) return false;
  // A return address behind a last instruction that calls belongs to the routine before it.
  auto above = file->second.lower_bound(offset);
  return above != file->second.begin() && offset <= std::prev(above)->second;
}

void CallTally::enter(const CallRecord& record) {
  if (record.id >= routines_.size()) return;
  const Routine& routine = routines_[record.id].entry.routine;
  Thread& thread = threads_[record.tid];
  const Frame frame{record.id, record.stack_pointer, record.return_address};
  std::uint64_t offset = 0;
  const Mapping* caller = find_mapping(record.pid, record.return_address, offset);

  // The stack grows down: what began below this call is over, whether its return was seen or not;
  // and so is a call of the same routine from the same place.
  const auto is_over = [&](const Frame& earlier) {
    return earlier.stack_pointer < record.stack_pointer ||
           (earlier.stack_pointer == record.stack_pointer && earlier.id == record.id);
  };
  while (!thread.frames.empty() && is_over(thread.frames.back())) thread.frames.pop_back();
  const bool jumped = thread.last && thread.last->id != record.id &&
                      thread.last->stack_pointer == record.stack_pointer &&
                      thread.last->return_address == record.return_address;
  const bool nested =
      routine.blas && thread.call &&
      (!thread.frames.empty() || jumped || (caller != nullptr && inside_routine(*caller, offset)));
  if (routine.blas) {
    thread.last = frame;
    if (timing_ && routine.timed) thread.frames.push_back(frame);
  }
  if (nested) {
    thread.call->innermost = record.id;
    remember(record.return_address, record.id, {true, record.id});
    return;
  }
  book(thread);
  thread.call = Call{record.id,
                     record.id,
                     caller != nullptr ? caller->path : std::string(),
                     record.return_address,
                     record.m,
                     record.n,
                     record.k,
                     record.time_ns};
}

void CallTally::leave(const CallRecord& record) {
  ++returns_;
  const auto found = threads_.find(record.tid);
  if (found == threads_.end()) return;
  Thread& thread = found->second;
  const auto entered = std::find_if(thread.frames.rbegin(), thread.frames.rend(),
                                    [&](const Frame& frame) { return frame.id == record.id; });
  if (entered == thread.frames.rend()) return;
  thread.frames.erase(std::prev(entered.base()), thread.frames.end());
  if (thread.frames.empty() && thread.call && thread.call->id == record.id) {
    thread.call->time_ns = static_cast<double>(record.time_ns - thread.call->began_ns);
  }
}

void CallTally::book(Thread& thread) {
  if (!thread.call) return;
  const Call& call = *thread.call;
  remember(call.return_address, call.id, {false, call.innermost});
  Site& site = sites_[{call.id, routines_[call.innermost].path, call.caller}];
  site.shapes.add(call.m, call.n, call.k);
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

void CallTally::add_sample(const CallRecord& record) {
  if (record.id >= routines_.size()) return;
  std::uint64_t offset = 0;
  const Mapping* caller = find_mapping(record.pid, record.return_address, offset);
  Habit habit{false, record.id};
  if (auto known = habits_.find({record.return_address, record.id}); known != habits_.end()) {
    habit = known->second;
  } else if (routines_[record.id].entry.routine.blas && caller != nullptr) {
    habit.nested = inside_routine(*caller, offset);
  }
  if (habit.nested) {
    ++nested_samples_;
    return;
  }
  Site& site = sites_[{record.id, routines_[habit.innermost].path,
                       caller != nullptr ? caller->path : std::string()}];
  site.sampled.add(record.m, record.n, record.k);
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
    site.sampled = {};
    site.samples = 0;
  }
  return true;
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
    out.library = library;
    out.caller = caller;
    site.shapes.write(entry.routine, out);
    if (site.timed == site.count) out.time_ns = site.time_ns;
    result.push_back(std::move(out));
  }
  most_flop_first(result);
  return result;
}

}  // namespace hwprof::observe
