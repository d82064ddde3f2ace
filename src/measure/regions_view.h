// Views of a table of regions: processes merged, rows grouped, sorted and cut. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/model/regions_record.h"

namespace hwprof {

// Columns that --sort knows, apart from events.
std::span<const std::string_view> region_columns();

// Fault::kUsage for a column that is none of those, nor one of `events`, with the nearest.
Result<void> check_region_view(const report::RegionView& view, std::span<const std::string> events);

// The regions of several processes as one: rows of the same path, type and shape add up.
report::Regions merge_regions(std::span<const report::Regions> processes);

// Groups, sorts and cuts the rows of `all`, which are depth first. Shares are of all regions,
// whatever is shown. A total does not count what is inside another row of the same group.
report::Regions view_regions(report::Regions all, const report::RegionView& view);

}  // namespace hwprof
