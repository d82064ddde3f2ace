// Named regions of a run, as a table has them: plain rows with the unit in each name. Times are
// without what entering and leaving cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/model/machine.h"
#include "src/model/stacks.h"

namespace hwprof::model {

enum class GroupBy { kPath, kName, kShape, kType };  // kShape: name and shape

template <>
struct EnumNames<GroupBy> {
  static constexpr EnumName<GroupBy> kAll[] = {
      {GroupBy::kPath, "path", "rows of one call path"},
      {GroupBy::kName, "name", "rows of one name"},
      {GroupBy::kShape, "shape", "rows of one name and shape"},
      {GroupBy::kType, "type", "rows of one type"},
  };
};

// What of the regions is shown, and in which order.
struct RegionView {
  GroupBy group_by = GroupBy::kPath;
  std::string sort;       // column, largest first; "": paths as a tree, groups by self time
  std::size_t top = 0;    // rows; 0: all
  std::size_t depth = 0;  // levels; 0: all
};

struct RegionCount {
  std::string name, unit;
  std::optional<double> total, self;  // absent: `reason`
  CountStatus status = CountStatus::kUnsupported;
  std::string reason;  // beside a value: what to know about it
};

struct RegionMemory {
  std::uint64_t self_bytes = 0, total_bytes = 0;  // allocated inside by the thread that is in it
  std::uint64_t peak_bytes = 0;  // above what was live at its entry; the highest of its calls
};

struct Region {
  std::string name, type, shape;  // of a group what its rows share; the last two may be empty
  std::vector<std::string> path;  // its names from outside in; empty: a group
  std::size_t depth = 0;          // 0: in no other region
  std::uint64_t threads = 0;      // of a group: of the path with most
  std::uint64_t calls = 0;
  std::optional<double> total_ns, self_ns;  // with nested regions, without; absent: no call ended
  std::optional<double> total_share, self_share;  // of the self times of all regions
  double flops = 0, bytes = 0;                    // declared, with nested regions; 0: none was
  std::optional<double> gflops;                   // of one thread; absent: nothing was declared
  std::optional<RegionMemory> memory;             // absent: Regions::memory_reason
  std::vector<RegionCount> counts;                // the same events in each row
};

struct RegionTrace {
  std::string path;
  std::uint64_t calls = 0, dropped = 0;
  std::vector<TraceSpan> spans = {};          // of the calls, the longest
  std::optional<double> spans_begin_ns = {};  // CLOCK_MONOTONIC when the first of them began
  std::string spans_note = {};                // which are left out
};

enum class WatchMode { kNone, kCounting, kSampling, kTracing };

template <>
struct EnumNames<WatchMode> {
  static constexpr EnumName<WatchMode> kAll[] = {
      {WatchMode::kNone, "none", "without a region"},
      {WatchMode::kCounting, "counting", "in regions"},
      {WatchMode::kSampling, "sampling", "without a region, sampled for a flame graph"},
      {WatchMode::kTracing, "tracing", "in regions, each call written to a trace"},
  };
};

// What watching costs, on the same work by turns.
struct OverheadRow {
  WatchMode mode = WatchMode::kNone;
  std::optional<double> pass_ns;                       // median; absent: `reason`
  std::optional<double> ratio, ratio_low, ratio_high;  // to "none", of neighbouring turns; 95 %
  std::optional<std::uint64_t> memory_bytes;
  std::string reason;
};

struct Regions {
  std::string work;          // what was done in them
  RegionView view;           // what `rows` were made by
  std::vector<Region> rows;  // of paths without a sort: depth first
  std::size_t hidden = 0;    // rows that the view leaves out
  std::size_t processes = 1;
  std::string memory_reason;
  std::vector<std::string> notes;
  std::optional<RegionTrace> trace;
  std::vector<OverheadRow> overhead;
};

// What a program that has regions of its own leaves behind: counters/regions writes it.
struct RegionsFile {
  struct Event {
    std::string name, shown_as, unit;
  };
  std::vector<Event> events;
  Regions regions;  // whose counts have the events' names
};

template <>
const Record& record<RegionView>();
template <>
const Record& record<RegionCount>();
template <>
const Record& record<RegionMemory>();
template <>
const Record& record<Region>();
template <>
const Record& record<RegionTrace>();
template <>
const Record& record<OverheadRow>();
template <>
const Record& record<Regions>();
template <>
const Record& record<RegionsFile::Event>();
template <>
const Record& record<RegionsFile>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::GroupBy, model::RegionView, model::RegionCount, model::RegionMemory, model::Region,
    model::RegionTrace, model::WatchMode, model::OverheadRow, model::Regions, model::RegionsFile;
}  // namespace hwprof::report
