// From sums over threads to the numbers of a report: the cost of the edges taken away, events made
// of native ones, work over time. Pure; the writers below only print.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "counters/perf/reading.h"
#include "counters/regions/region_runtime.h"
#include "src/model/regions_record.h"

namespace hwprof {

// One event, before what entering and leaving cost is taken away.
struct RawRegionCount {
  std::optional<double> total, self;
  std::optional<double> coverage;
};

// A region with what only its program says of it.
struct RegionRow : model::Region {
  std::uint64_t nested = 0, open = 0, unfinished = 0, counted_calls = 0;
  double raw_total_ns = 0, raw_self_ns = 0;
  std::optional<double> gbytes_per_s;  // of one thread, on average
  std::vector<RawRegionCount> raw;     // of each of `counts`
};

struct RegionReport {
  std::vector<EventCount>
      events;                   // what each became, and why it has no value; the value is not set
  std::vector<RegionRow> rows;  // depth first
  RegionTotals totals;          // without the sums
  RegionCost cost;
  std::vector<RawRegionCount> event_costs;  // total: inside, self: outside an empty region
  std::string memory_reason;                // why no row has its memory
  std::vector<std::string> notes;           // what a reader has to know
};

RegionReport make_region_report(const RegionSetup& setup, RegionTotals totals);

// Writers. The table is for people; JSON is the schema hwprof.regions/1 (docs/regions.md).
std::string regions_as_text(const RegionReport& report);
std::string regions_as_json(const RegionReport& report);

}  // namespace hwprof
