// What the report of a sweep says, before it gets a form. Internal to src/report.
#pragma once

#include <string>
#include <vector>

#include "src/model/sweep_record.h"
#include "src/report/documents/content.h"

namespace hwprof::report {

Headline sweep_headline(const Sweep& sweep);
std::vector<Field> sweep_fields(const Sweep& sweep);
Table laws_table(const Sweep& sweep);
Table points_table(const Sweep& sweep);
Table sweep_counters_table(const Sweep& sweep);

// Time against the first swept size, both axes logarithmic, in lines of at most `columns`; empty
// where fewer than two points have a time. sweep_plot.cpp
std::vector<std::string> sweep_plot(const Sweep& sweep, int columns);

}  // namespace hwprof::report
