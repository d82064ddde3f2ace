// What `hwprof check` says to other programs on standard output, and what `hwprof report` makes of
// the record that it leaves.
#pragma once

#include <string>

#include "src/model/check_record.h"
#include "src/report/document.h"

namespace hwprof::report {

// "verdict=optimal gflops=61.3 peak_fraction=0.87 factor=1 outcome=pass provider=openblas
// core=Zen";
// "-" for what is not known.
std::string check_line(const Check& check);

Document check_document(const Check& check);

}  // namespace hwprof::report
