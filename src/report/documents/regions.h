// What a report says of regions: a table as PyTorch's profiler prints it, the same as JSON and CSV.
#pragma once

#include <string>

#include "src/model/regions_record.h"
#include "src/report/documents/content.h"

namespace hwprof::report {

std::string to_string(GroupBy group_by);
// "forward / conv1d"; of a group its name.
std::string path_of(const Region& row);

// Nothing to say where there are no regions.
Table regions_table(const std::optional<Regions>& regions);
Table overhead_table(const std::optional<Regions>& regions);

}  // namespace hwprof::report
