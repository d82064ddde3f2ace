// What each command says of its record, before it gets a format.
#pragma once

#include "src/model/comparison_record.h"
#include "src/model/run_record.h"
#include "src/model/sweep_record.h"
#include "src/report/document.h"

namespace hwprof::report {

Document profile_document(const Profile& profile);
Document run_document(const Run& run);
// The line for other programs, the findings and the fix: `hwprof blas -- COMMAND`.
Document verdict_document(const Run& run);
Document sweep_document(const Sweep& sweep);
Document comparison_document(const Comparison& comparison);

}  // namespace hwprof::report
