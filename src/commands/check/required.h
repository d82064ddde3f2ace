// `hwprof check --require optimal-blas -- COMMAND`: what it says of the command, in one line.
#pragma once

#include "src/model/run_record.h"
#include "src/report/document.h"

namespace hwprof {

// 0 the BLAS is optimal, 1 it is bad, 3 that cannot be told, 4 the command failed, perhaps before
// its first call.
int required_exit(const report::Run& run);
// "host=node01 exit=1 verdict=unoptimised reason=..."
report::Document required_line(const report::Run& run);
// The same with the verdict below it.
report::Document required_verdict(const report::Run& run);

}  // namespace hwprof
