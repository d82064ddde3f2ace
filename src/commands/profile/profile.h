// `hwprof profile`: a workload, operation by operation and variant by variant, on pinned CPUs;
// which BLAS served it, and whether the time agrees with the complexity analysis.
#pragma once

#include <optional>

#include "src/base/result.h"
#include "src/commands/profile/options.h"
#include "src/commands/profile/session.h"
#include "src/workloads/inputs/batch.h"

namespace hwprof {

// Measures, writes the report, returns the exit code: 0, 1 (a --require says no), 3 (nothing could
// be measured), 128 + signal (partial report).
Result<int> run_profile(const ProfileOptions& options);

// What a workload is: from its own options to its part of the record, in a file of its own. It
// reads its input and names what the user got wrong, has the session set up, and measures.
Result<void> profile_workload(ProfileSession& session, const TextCnnOptions& options);
Result<void> profile_workload(ProfileSession& session, const NetworkOptions& options);
Result<void> profile_workload(ProfileSession& session, const MlpOptions& options);

// Why variants are far from their ceiling: what can be timed alone is timed alone, and nothing else
// is said. Fills the causes of what complexity_agreement() found far from its ceiling, some
// milliseconds each: the BLAS from its ladder, a call of the same variant on hardly any work, and
// the copy of im2col over `batch`.
void measure_causes(ProfileSession& session, const Batch& batch);

}  // namespace hwprof
