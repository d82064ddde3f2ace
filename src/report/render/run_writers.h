// Writers of what `hwprof run` found out; none computes, none touches a file.
#pragma once

#include <string>

#include "src/model/run_record.h"
#include "src/report/render/writers.h"

namespace hwprof::report {

std::string run_text(const Run& run, const TextStyle& style);
// The line for other tools, the findings, the mend: for `hwprof blas -- COMMAND`.
std::string run_verdict_text(const Run& run, const TextStyle& style);
std::string run_json(const Run& run);  // hwprof.run/1
std::string run_markdown(const Run& run);

}  // namespace hwprof::report
