// What a report says of an observed program's threads. Internal to src/report.
#pragma once

#include <string>
#include <vector>

#include "src/model/run_record.h"
#include "src/report/document.h"

namespace hwprof::report {

// The sentences, each with its evidence and fix.
std::vector<Headline> thread_headlines(const ThreadUse& threads);
// So much that it belongs before what the rest of the time was spent on.
bool waits_much(const Run& run);
// "OpenBLAS 30 %, libgomp 7 %": where threads wait; empty where no loop was seen to.
std::string waiting_pools(const Run& run);
// CPU time by what it was for, wall time by state, pools. Empty where there is nothing.
Fields thread_fields(const Run& run);
// Of that the line of the brief form; empty where it is not worth one.
std::string brief_threads(const Run& run);

}  // namespace hwprof::report
