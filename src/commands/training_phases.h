// The phases of training out of the regions that the loop went through (mlp_training.h).
#pragma once

#include <string>
#include <vector>

#include "counters/regions/region_report.h"
#include "src/model/training_record.h"

namespace hwprof {

// Names of the regions that the command makes itself: around the images' coming and around each
// variant's training.
inline constexpr const char* kLoadRegion = "load";
std::string training_region(const std::string& variant);

report::TrainingPhase load_phase(const RegionReport& regions);
// data, forward, backward, update and accuracy of one variant; empty where it did not run.
std::vector<report::TrainingPhase> training_phases(const RegionReport& regions,
                                                   const std::string& variant);

}  // namespace hwprof
