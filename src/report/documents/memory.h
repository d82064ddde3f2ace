// What a report says of where a program's memory lay. Internal to src/report.
#pragma once

#include "src/model/run_record.h"
#include "src/report/document.h"

namespace hwprof::report {

// Its large areas, their pages and NUMA nodes. Empty where nobody looked.
Fields memory_fields(const Run& run);

}  // namespace hwprof::report
