// What a trace is made of: the last calls of one thread, in a ring of a fixed size. Only whole
// calls are kept, so that whatever is dropped the rest still nests. Written by its thread, read by
// who writes the trace: a lock an entry, which is for who asked for a trace alone.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "counters/perf/selection.h"
#include "counters/regions/region_edge.h"

namespace hwprof {

struct RegionNode;

// No initial values: a ring is not written to before it is needed.
struct TraceCall {
  const RegionNode* node;
  std::uint64_t start, end;  // CLOCK_MONOTONIC, ns
  bool counted;              // both edges, while nobody else had the counters
  std::uint64_t allocated;   // bytes; this and the next where memory is watched
  std::int64_t live_at_start, live_at_end;
};

class RegionTrace {
 public:
  RegionTrace(std::size_t capacity, std::size_t event_count);

  // Counters at both edges are taken from the edges. Drops the oldest call where there is no room.
  void add(const TraceCall& call, const Edge& start, const Edge& end);

  struct Kept {
    std::vector<TraceCall> calls;       // in the order in which they ended
    std::vector<std::uint64_t> values;  // a call: of each event at its start, then at its end
    std::uint64_t dropped = 0;
  };
  [[nodiscard]] Kept kept() const;
  [[nodiscard]] std::uint64_t added() const;  // ever

  [[nodiscard]] std::size_t event_count() const { return event_count_; }
  [[nodiscard]] std::size_t bytes() const;  // that the ring takes when it is full
  [[nodiscard]] int thread_id() const { return thread_id_; }
  [[nodiscard]] const std::string& thread_name() const { return thread_name_; }

 private:
  std::size_t capacity_, event_count_;
  int thread_id_;
  std::string thread_name_;
  mutable std::mutex mutex_;
  std::uint64_t added_ = 0;  // ever
  // Not filled with zeros: the kernel gives what was written to.
  std::unique_ptr<TraceCall[]> calls_;
  std::unique_ptr<std::uint64_t[]> values_;
};

// A trace in Chrome's trace event format, which Perfetto and chrome://tracing open: a slice a call,
// nested as the calls were, a track of each event and of the memory a thread. Pure.
struct TraceContents {
  Selection selection;  // one pass of one group
  std::vector<const RegionTrace*> threads;
  bool memory_watched = false;
  std::uint64_t dropped = 0;  // calls that no ring had room for, with those of `threads`
  std::uint64_t open = 0;     // entries that were not left yet
};

struct TraceText {
  std::string json;
  std::uint64_t calls = 0, dropped = 0;
};

TraceText trace_as_json(const TraceContents& contents);

}  // namespace hwprof
