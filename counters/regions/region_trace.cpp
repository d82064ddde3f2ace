#include "counters/regions/region_trace.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace hwprof {
namespace {

std::string name_of_this_thread() {
  std::array<char, 16> name{};  // the kernel keeps no more
  return pthread_getname_np(pthread_self(), name.data(), name.size()) == 0 ? name.data() : "";
}

}  // namespace

RegionTrace::RegionTrace(std::size_t capacity, std::size_t event_count, const RegionClock& clock)
    : capacity_(capacity),
      event_count_(event_count),
      clock_(clock),
      offset_ns_(clock.counts_ticks() ? monotonic_ns() - clock.as_ns(clock.now()) : 0),
      thread_id_(gettid()),
      thread_name_(name_of_this_thread()),
      calls_(std::make_unique_for_overwrite<TraceCall[]>(capacity)),
      values_(std::make_unique_for_overwrite<std::uint64_t[]>(capacity * 2 * event_count)) {}

void RegionTrace::add(const TraceCall& call, const Edge& start, const Edge& end) {
  const std::lock_guard lock(mutex_);
  const std::size_t place = added_++ % capacity_;
  calls_[place] = call;
  if (!call.counted) return;
  std::uint64_t* values = &values_[place * 2 * event_count_];
  values = std::copy_n(start.values.begin(), event_count_, values);
  std::copy_n(end.values.begin(), event_count_, values);
}

RegionTrace::Kept RegionTrace::kept() const {
  const std::lock_guard lock(mutex_);
  Kept kept;
  const std::uint64_t count = std::min<std::uint64_t>(added_, capacity_);
  kept.dropped = added_ - count;
  for (std::uint64_t number = kept.dropped; number < added_; ++number) {
    const std::size_t place = number % capacity_;
    kept.calls.push_back(calls_[place]);
    const std::uint64_t* values = values_.get() + place * 2 * event_count_;
    if (calls_[place].counted)
      kept.values.insert(kept.values.end(), values, values + 2 * event_count_);
    else
      kept.values.resize(kept.values.size() + 2 * event_count_);  // never looked at
  }
  return kept;
}

std::uint64_t RegionTrace::added() const {
  const std::lock_guard lock(mutex_);
  return added_;
}

std::size_t RegionTrace::bytes() const {
  return capacity_ * (sizeof(TraceCall) + 2 * event_count_ * sizeof(std::uint64_t));
}

}  // namespace hwprof
