// From sums over threads to the numbers of a report: the cost of the edges taken away, events made
// of native ones, work over time. Pure; the writers below only print.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "counters/perf/reading.h"
#include "counters/regions/region_runtime.h"

namespace hwprof {

struct Corrected {
  double raw = 0;
  double corrected = 0;  // without what entering and leaving cost
};

struct RegionEventRow {
  std::optional<Corrected> total, self;  // absent: `reason`
  CountStatus status = CountStatus::kUnsupported;
  std::optional<double> coverage;
  std::string reason;
};

struct RegionMemory {
  std::uint64_t total = 0, self = 0;  // bytes allocated by the thread inside
  std::uint64_t peak = 0;             // above what was live at its entry; the highest of its calls
};

struct RegionRow {
  std::string name, type, shape;  // the last two as described, or empty
  std::size_t depth = 0;          // 0: in no other region
  std::vector<std::string> path;
  std::uint64_t threads = 0, calls = 0, nested = 0, open = 0, unfinished = 0, counted_calls = 0;
  Corrected total_ns, self_ns;
  double flops = 0, bytes = 0;                 // declared, with nested regions
  std::optional<double> gflops, gbytes_per_s;  // of one thread, on average
  std::optional<RegionMemory> memory;          // absent: RegionReport::memory_reason
  std::vector<RegionEventRow> events;
};

struct RegionReport {
  std::vector<EventCount>
      events;                   // what each became, and why it has no value; the value is not set
  std::vector<RegionRow> rows;  // depth first
  RegionTotals totals;          // without the sums
  RegionCost cost;
  std::vector<RegionEventRow> event_costs;  // total: inside, self: outside an empty region
  std::string memory_reason;                // why no row has its memory
  std::vector<std::string> notes;           // what a reader has to know
};

RegionReport make_region_report(const RegionSetup& setup, RegionTotals totals);

// Writers. The table is for people; JSON is the schema hwprof.regions/1 (docs/regions.md).
std::string regions_as_text(const RegionReport& report);
std::string regions_as_json(const RegionReport& report);

}  // namespace hwprof
