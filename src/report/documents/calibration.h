// What `hwprof events --calibrate` says.
#pragma once

#include <string>

#include "src/model/calibration.h"
#include "src/report/document.h"

namespace hwprof::report {

Document calibration_document(const model::Calibration& calibration);
std::string calibration_json(const model::Calibration& calibration);  // hwprof.calibration/1

}  // namespace hwprof::report
