#include "src/commands/training_phases.h"

#include <algorithm>

namespace hwprof {
namespace {

using Path = std::vector<std::string>;

const RegionRow* find(const RegionReport& regions, const Path& path) {
  const auto at = std::find_if(regions.rows.begin(), regions.rows.end(),
                               [&](const RegionRow& row) { return row.path == path; });
  return at == regions.rows.end() ? nullptr : &*at;
}

report::TrainingPhase phase_of(const RegionReport& regions, const RegionRow& row,
                               const RegionRow* whole) {
  report::TrainingPhase phase;
  phase.name = row.name;
  phase.calls = row.calls;
  phase.total_ns = row.total_ns.corrected;
  if (whole != nullptr && whole->total_ns.corrected > 0) {
    phase.share = phase.total_ns / whole->total_ns.corrected;
  }
  phase.flops = row.flops;
  phase.gflops = row.gflops;
  for (std::size_t i = 0; i < row.events.size(); ++i) {
    const RegionEventRow& event = row.events[i];
    EventCount count = regions.events[i];  // its name and what it became
    count.status = event.status;
    count.coverage = event.coverage;
    count.calls = static_cast<double>(row.counted_calls);
    if (event.total) {
      count.total = event.total->corrected;
      if (row.counted_calls > 0) count.value = *count.total / count.calls;
    } else {
      count.reason = event.reason;
    }
    phase.counters.push_back(std::move(count));
  }
  return phase;
}

}  // namespace

std::string training_region(const std::string& variant) { return "train " + variant; }

report::TrainingPhase load_phase(const RegionReport& regions) {
  const RegionRow* row = find(regions, {kLoadRegion});
  return row == nullptr ? report::TrainingPhase{} : phase_of(regions, *row, nullptr);
}

std::vector<report::TrainingPhase> training_phases(const RegionReport& regions,
                                                   const std::string& variant) {
  const std::string top = training_region(variant);
  const RegionRow* whole = find(regions, {top});
  std::vector<report::TrainingPhase> phases;
  for (const Path& below : {Path{"step", "data"}, Path{"step", "forward"}, Path{"step", "backward"},
                            Path{"step", "update"}, Path{"accuracy"}}) {
    Path path = {top, "epoch"};
    path.insert(path.end(), below.begin(), below.end());
    const RegionRow* row = find(regions, path);
    if (row != nullptr) phases.push_back(phase_of(regions, *row, whole));
  }
  return phases;
}

}  // namespace hwprof
