// Why variants are far from their ceiling: what can be timed alone is timed alone, and nothing else
// is said.
#pragma once

#include <optional>

#include "src/commands/profile/session.h"
#include "src/workloads/inputs/batch.h"

namespace hwprof {

// Fills the causes of what complexity_agreement() found far from its ceiling, some milliseconds
// each: the BLAS from its ladder, a call of the same variant on hardly any work, and the copy of
// im2col over `batch`.
void measure_causes(ProfileSession& session, const Batch& batch);

}  // namespace hwprof
