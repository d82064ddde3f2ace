// Which BLAS programs get on this machine, and what else there is: the survey of `hwprof blas`, and
// of `hwprof node`.
#pragma once

#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/model/inspect.h"

namespace hwprof {

// `paths`: libraries to measure beside those that are installed. `quick`: within a second.
Result<report::BlasSurvey> survey_blas(const std::vector<std::string>& paths, bool quick);

}  // namespace hwprof
