// What the report on a program says, before it gets a form: as content.h is to a profile.
#pragma once

#include <string>
#include <vector>

#include "src/model/run_record.h"
#include "src/report/documents/content.h"

namespace hwprof::report {

// The verdict with its cause, its factor and its mend; then the other findings, one a sentence.
std::vector<Headline> run_headlines(const Run& run);
std::string run_line(const Run& run);      // version, start
std::string command_line(const Run& run);  // as a shell would take it

std::vector<Field> run_fields(const Run& run);  // how it ended, time, memory, where it ran
// Of runs with --repeat: their times; those that stand out, with the likely causes.
Table repeats_table(const Repeats& repeats);
Table outliers_table(const Repeats& repeats);
Table run_counters_table(const Run& run);
// One a level, each with how it was obtained or why it could not be.
std::vector<Field> evidence_fields(const BlasEvidence& evidence);
Table calls_table(const Called& called);
Table libraries_table(const Executed& executed);  // share of the CPU time
Table symbols_table(const Executed& executed);
Table lines_table(const Executed& executed);

}  // namespace hwprof::report
