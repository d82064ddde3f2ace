// E0: what is said of a program's BLAS before it runs: the environment, the library that the
// loader would give, and what the program's file names as needed. A claim, not yet a proof.
#pragma once

#include <string>
#include <vector>

#include "src/model/run_record.h"

namespace hwprof::blas {

// `command` as it would be executed: the first word is looked up in PATH. Never fails; what cannot
// be found out stays empty.
report::Declared declared(const std::vector<std::string>& command);

}  // namespace hwprof::blas
