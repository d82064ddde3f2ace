// A trace in Chrome's trace event format, which Perfetto and chrome://tracing open: a slice a call,
// nested as the calls were, a track of each event and of the memory a thread. Pure. Internal to
// counters/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "counters/events/selection.h"
#include "counters/regions/region_trace.h"

namespace hwprof {

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
