// --lines: the lines of the program, with their text.
#pragma once

#include <vector>

#include "src/model/run_record.h"
#include "src/observe/calls/audited_calls.h"
#include "src/observe/samples/sampling.h"

namespace hwprof {

// Fills record.lines and record.lines_known, where there are samples.
void add_lines(const observe::SampleProfile& profile, const std::vector<observe::CallKind>& kinds,
               report::Run& record);

}  // namespace hwprof
