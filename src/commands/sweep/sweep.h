// `hwprof sweep`: one operation over a range of sizes, and whether its time grows as the complexity
// analysis says.
#pragma once

#include <span>

#include "src/base/result.h"
#include "src/commands/profile/session.h"
#include "src/commands/sweep/plan.h"
#include "src/model/sweep_record.h"

namespace hwprof {

// All of it between the making of the operations and the report: `tasks`, one a point of the plan,
// are measured interleaved and judged.
Result<report::Sweep> measure_sweep(ProfileSession& session, const SweepOptions& options,
                                    const SweepPlan& plan, std::span<const Task> tasks);

// From the measured points of a sweep to its laws and its verdict (sweep_laws.cpp). Pure.
// Fills laws, verdict and what the model says of each point; `sweep` has its rows and, of each
// point, the sizes and the model's bytes. One law of time and one of counted FLOP a swept size, the
// other held at its largest, where fixed costs matter least; of two sizes also both in one fit.
void judge_sweep(report::Sweep& sweep);

}  // namespace hwprof
