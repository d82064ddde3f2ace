#include "counters/regions/region_trace.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>

#include "counters/regions/hwprof.h"
#include "counters/regions/region_tree.h"
#include "src/base/json_text.h"

namespace hwprof {
namespace {

std::string name_of_this_thread() {
  std::array<char, 16> name{};  // the kernel keeps no more
  return pthread_getname_np(pthread_self(), name.data(), name.size()) == 0 ? name.data() : "";
}

using Values = std::span<const std::uint64_t>;  // of the native events, in the order of the group

// The format has microseconds; all digits of the nanoseconds are kept.
std::string microseconds(std::uint64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

class Writer {
 public:
  explicit Writer(const TraceContents& contents) : contents_(contents) {
    for (std::size_t i = 0; i < contents.selection.events.size(); ++i)
      if (!contents.selection.events[i].terms.empty()) counted_.push_back(i);
    if (contents.selection.passes.empty()) return;
    const auto& group = contents.selection.passes.front().groups.front();
    place_of_.resize(contents.selection.natives.size());
    for (std::size_t place = 0; place < group.size(); ++place) place_of_[group[place]] = place;
  }

  void add(const RegionTrace& trace) {
    const RegionTrace::Kept kept = trace.kept();
    calls_ += kept.calls.size();
    dropped_ += kept.dropped;
    const int thread = trace.thread_id();
    line(R"("ph": "M", "name": "thread_name", "pid": {}, "tid": {}, "args": {{"name": {}}})",
         getpid(), thread, quoted(trace.thread_name()));
    for (std::size_t i = 0; i < kept.calls.size(); ++i) add_slice(trace, kept, i);
    add_tracks(trace, kept);
  }

  [[nodiscard]] TraceText text() const {
    std::string json = fmt::format(
        "{{\"displayTimeUnit\": \"ns\",\n \"otherData\": {{\"schema\": \"hwprof.trace/1\", "
        "\"hwprof\": {}, \"clock\": \"CLOCK_MONOTONIC\", \"threads\": {}, \"calls\": {}, "
        "\"dropped_calls\": {}, \"open_calls\": {}, \"memory_watched\": {}, \"note\": {}}},\n "
        "\"traceEvents\": [\n{}\n]}}\n",
        quoted(hwprof_version()), contents_.threads.size(), calls_, dropped(), contents_.open,
        contents_.memory_watched, text_or_null(note()), events_);
    return {std::move(json), calls_, dropped()};
  }

 private:
  template <class... Parts>
  void line(fmt::format_string<Parts...> format, Parts&&... parts) {
    events_ +=
        (events_.empty() ? "{" : ",\n{") + fmt::format(format, std::forward<Parts>(parts)...);
    events_ += '}';
  }

  [[nodiscard]] std::uint64_t dropped() const { return dropped_ + contents_.dropped; }
  [[nodiscard]] std::string note() const {
    if (dropped() == 0) return "";
    return fmt::format("{} earlier calls found no room: HWPROF_TRACE_CALLS sets how many are kept",
                       dropped());
  }

  [[nodiscard]] Values values(const RegionTrace& trace, const RegionTrace::Kept& kept,
                              std::size_t call, bool at_end) const {
    const std::size_t events = trace.event_count();
    return Values(kept.values).subspan((2 * call + (at_end ? 1 : 0)) * events, events);
  }
  [[nodiscard]] double count(std::size_t event, Values from, Values to) const {
    double count = 0;
    for (const SelectedTerm& term : contents_.selection.events[event].terms) {
      const std::size_t place = place_of_[term.native];
      count += term.weight * static_cast<double>(to[place] - from[place]);
    }
    return count;
  }
  [[nodiscard]] std::string name_of(std::size_t event) const {
    return contents_.selection.events[event].resolved.shown_as;
  }

  void add_slice(const RegionTrace& trace, const RegionTrace::Kept& kept, std::size_t number) {
    const TraceCall& call = kept.calls[number];
    std::string args;
    const auto argument = [&](std::string_view name, const std::string& value) {
      args += fmt::format("{}{}: {}", args.empty() ? "" : ", ", quoted(name), value);
    };
    if (!call.node->shape.empty()) argument("shape", quoted(call.node->shape));
    if (call.counted)
      for (const std::size_t event : counted_)
        argument(name_of(event), hwprof::number(count(event, values(trace, kept, number, false),
                                                      values(trace, kept, number, true))));
    if (contents_.memory_watched) argument("allocated_bytes", fmt::format("{}", call.allocated));
    line(R"("ph": "X", "name": {}, "cat": {}, "pid": {}, "tid": {}, "ts": {}, "dur": {}, )"
         R"("args": {{{}}})",
         quoted(call.node->name.text()),
         quoted(call.node->type.empty() ? "region" : call.node->type), getpid(), trace.thread_id(),
         microseconds(call.start), microseconds(call.end - call.start), args);
  }

  // Rates from edge to edge: between two neighbouring ones nothing is known of how it went.
  void add_tracks(const RegionTrace& trace, const RegionTrace::Kept& kept) {
    struct Edge {
      std::uint64_t ns;
      Values values;  // empty: not counted
      std::int64_t live;
    };
    std::vector<Edge> edges;
    for (std::size_t i = 0; i < kept.calls.size(); ++i) {
      const TraceCall& call = kept.calls[i];
      const auto values_at = [&](bool at_end) {
        return call.counted ? values(trace, kept, i, at_end) : Values();
      };
      edges.push_back({call.start, values_at(false), call.live_at_start});
      edges.push_back({call.end, values_at(true), call.live_at_end});
    }
    std::stable_sort(edges.begin(), edges.end(),
                     [](const Edge& a, const Edge& b) { return a.ns < b.ns; });
    const auto point = [&](const std::string& track, std::uint64_t ns, const std::string& value) {
      line(R"("ph": "C", "name": {}, "pid": {}, "ts": {}, "args": {{"value": {}}})",
           quoted(fmt::format("{}, thread {}", track, trace.thread_id())), getpid(),
           microseconds(ns), value);
    };
    if (contents_.memory_watched)
      for (const Edge& edge : edges)
        point("live memory [bytes]", edge.ns, fmt::format("{}", edge.live));
    std::erase_if(edges, [](const Edge& edge) { return edge.values.empty(); });
    for (const std::size_t event : counted_) {
      const std::string track = name_of(event) + " a second";
      for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
        const auto& [ns, from, live] = edges[i];
        const double seconds = static_cast<double>(edges[i + 1].ns - ns) * 1e-9;
        if (seconds > 0)
          point(track, ns, hwprof::number(count(event, from, edges[i + 1].values) / seconds));
      }
      if (!edges.empty()) point(track, edges.back().ns, "0");
    }
  }

  const TraceContents& contents_;
  std::vector<std::size_t> counted_;   // of the events: those that have native ones
  std::vector<std::size_t> place_of_;  // of each native event among the values
  std::string events_;
  std::uint64_t dropped_ = 0, calls_ = 0;
};

}  // namespace

RegionTrace::RegionTrace(std::size_t capacity, std::size_t event_count)
    : capacity_(capacity),
      event_count_(event_count),
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

TraceText trace_as_json(const TraceContents& contents) {
  Writer writer(contents);
  for (const RegionTrace* trace : contents.threads) writer.add(*trace);
  return writer.text();
}

}  // namespace hwprof
