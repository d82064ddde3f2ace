// The peers of bench/ beside a profile's rows: a case belongs to a row only where it is the same
// work on the same CPU, by its operation, sizes, threads and FLOP.
#pragma once

#include <span>

#include "src/commands/compare/report_file.h"
#include "src/commands/report/bench_file.h"
#include "src/model/record.h"

namespace hwprof {

// Of one file beside one profile; what of it is beside no row is said, with why. Pure.
model::Peers peers_of(const model::Profile& profile, const BenchFile& bench);

// Adds them to the profile's JSON, from where every format has them. Fault::kUsage where that is
// not what its schema says, or they are more than can be drawn.
Result<void> add_peers(ReportFile& profile, std::span<const BenchFile> benches);

}  // namespace hwprof
