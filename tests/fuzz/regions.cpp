#include <array>

#include "src/measure/regions_view.h"
#include "src/observe/proc/region_files.h"
#include "tests/fuzz/json_mutator.h"

void fuzz(std::string_view text) {
  using namespace hwprof;
  const auto regions = parse_regions(std::string(text));
  if (!regions) return;
  const std::array processes = {*regions, *regions};
  const report::Regions merged = merge_regions(processes);
  must(merged.rows.size() <= regions->rows.size());
  for (const auto group : {report::GroupBy::kPath, report::GroupBy::kName}) {
    report::RegionView view;
    view.group_by = group;
    view_regions(merged, view);
  }
}
