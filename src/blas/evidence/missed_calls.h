// The self-test of `--calls-by both`: what probes beside the stubs of LD_AUDIT saw and these did
// not.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "src/model/blas.h"
#include "src/observe/calls/audit.h"
#include "src/observe/calls/uprobes.h"

namespace hwprof::blas {

std::string calls_text(std::uint64_t count);  // "1 call", "2 calls"

// Adds them to what the stubs saw, and says so. True: of all programs that ran no call was missed
// by both. `left`: processes that may go on.
bool add_missed(observe::Uprobes& uprobes, const observe::Audit& audit,
                const std::vector<pid_t>& left, report::Called& called);

}  // namespace hwprof::blas
