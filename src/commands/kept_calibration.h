// Where the calibration of this machine is kept between runs: a file a CPU model, microcode and
// kernel in the user's cache, since it can be made anew at any time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/base/result.h"
#include "src/model/calibration.h"
#include "src/model/machine.h"

namespace hwprof {

// `cpuinfo`: the text of /proc/cpuinfo.
model::CalibrationKey calibration_key(const Machine& machine, unsigned cpu,
                                      std::string_view cpuinfo);
model::CalibrationKey calibration_key(const Machine& machine, unsigned cpu);

// $XDG_CACHE_HOME/hwprof, else ~/.cache/hwprof (XDG Base Directory Specification); of the values of
// XDG_CACHE_HOME and HOME, null where they are not set.
Result<std::string> cache_folder(const char* xdg_cache_home, const char* home);

// Whole or not at all; its path. What another user owns is refused, folders that are missing are
// made.
Result<std::string> keep_calibration(const std::string& folder,
                                     const model::Calibration& calibration);

// Absent: there is none of this key. An error where there is one that is not believed.
Result<std::optional<model::Calibration>> kept_calibration(const std::string& folder,
                                                           const model::CalibrationKey& key);

// Makes every count of an event that was found to be off say so from now on (event_notes.h).
void use_kept_calibration(const Machine& machine, unsigned cpu);

}  // namespace hwprof
